"""Words that carry no meaning for matching. Negations stay out of the lists: "not" and "不" change what is asked."""

from __future__ import annotations

# Lucene's list, question words, pronouns and auxiliaries. Prepositions of place and time, and comparatives, carry
# meaning: a longer list that drops "between", "before" and "more" too costs .008 nDCG@10 of BM25 on SciFact.
ENGLISH = frozenset(
    """a am an and are as at be been being but by can could did do does for had has have having he her him his how i if
    in into is it its may me might mine my of on or our please s shall she should such that the their them then there
    these they this to us was we were what when where which who whom why will with would you your yours""".split()  # noqa: SIM905
)

OTHERS = {
    "de": """aber als am an auch auf aus bei bis da das dass dem den der des die durch ein eine einem einen einer eines
    er es für hat ich im in ist mit nach oder sich sie sind so über um und unter vom von vor war was wenn wer werden wie
    wir wird zu zum zur welche welcher welches""",
    "fr": """à au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur lui mais nous on ou où
    par pour qu que quel quelle quelles quels qui sa se ses son sont sur un une vous y l d c j m n s t""",
    "es": """a al como con cual cuál cuando cómo de del donde dónde e el ella en entre es esta este la las le lo los más
    o para pero por que qué se sin sobre son su sus un una y""",
    "it": """a ad al alla alle che chi come con cosa da dal dalla dei del della delle di e ed è gli i il in la le lo ma
    nel nella o per più quale quando quanto se si sono su sul un una uno l""",
    "pt": "a ao aos as às com como da das de do dos e é em entre mais na nas no nos o os ou para pela pelo por qual quando que se são sua um uma",  # noqa: E501
    "nl": "aan als bij dat de der die dit door een en er het hoe ik in is je maar met naar of om ook op over te tot uit van voor wat wel welke wie zijn",  # noqa: E501
    "sv": "att av de den det där då en ett för från har hur i inom med men och om på som till vad var vid är",
    "ru": "а без был бы в вы где да для до его ее если же за и из или им их к как ко когда кто ли мы на над о об он они от по под при с со так там то что это я",  # noqa: E501
}

CHINESE = frozenset(
    """的 了 和 与 及 或 是 在 有 为 对 于 从 到 由 以 被 把 让 向 给 将 而 但 也 都 就 又 还 则 其 之 所 者 着 过 地 得
    等 吗 呢 吧 啊 呀 嘛 哪 谁 我 你 您 他 她 它 我们 你们 他们 她们 它们 这 那 这个 那个 这些 那些 这里 那里 哪些 哪个
    哪里 什么 怎么 怎样 如何 为何 为什么 多少 几 请问 请 是否 可以 能否 以及 并且 而且 但是 如果 因为 所以 因此
    或者 关于 对于 根据 按照 通过 一个 一种 一些 是什么 有哪些 会 能 要 个""".split()  # noqa: SIM905
)

BY_LANGUAGE = {"en": ENGLISH, **{language: frozenset(words.split()) for language, words in OTHERS.items()}}
