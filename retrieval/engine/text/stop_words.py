"""Words that the index leaves out, in the two languages that the site speaks; in others their rarity alone tells.

They are a weight in an index, 0 in place of nearly 0, as stems are: nothing is decided by them. Negations stay out of
the lists: "not" and "不" change what is asked.
"""

from __future__ import annotations

# Lucene's list, question words, pronouns and auxiliaries. Prepositions of place and time, and comparatives, carry
# meaning: a longer list that drops "between", "before" and "more" too costs .008 nDCG@10 of BM25 on SciFact.
ENGLISH = frozenset(
    """a am an and are as at be been being but by can could did do does for had has have having he her him his how i if
    in into is it its may me might mine my of on or our please s shall she should such that the their them then there
    these they this to us was we were what when where which who whom why will with would you your yours""".split()  # noqa: SIM905
)

CHINESE = frozenset(
    """的 了 和 与 及 或 是 在 有 为 对 于 从 到 由 以 被 把 让 向 给 将 而 但 也 都 就 又 还 则 其 之 所 者 着 过 地 得
    等 吗 呢 吧 啊 呀 嘛 哪 谁 我 你 您 他 她 它 我们 你们 他们 她们 它们 这 那 这个 那个 这些 那些 这里 那里 哪些 哪个
    哪里 什么 怎么 怎样 如何 为何 为什么 多少 几 请问 请 是否 可以 能否 以及 并且 而且 但是 如果 因为 所以 因此
    或者 关于 对于 根据 按照 通过 一个 一种 一些 是什么 有哪些 会 能 要 个""".split()  # noqa: SIM905
)
