"""Passages in many languages, beside English ones about other things."""

from __future__ import annotations

from typing import NamedTuple

from retrieval.engine.values import AnswerSource, Scores
from tests.retrieval.engine.steps.fakes import chunk

ENGLISH = (
    "The boathouse is open from nine to six on every day of the week. Members pay 40 euros for a lost locker card, and "
    "the porter keeps a list of them. Rooms must be left as they were found, with the windows closed.",
    "Registration for the workshops closes on Thursday at noon. Late registration is possible for 15 euros until the "
    "workshop begins. The office sends a confirmation within three days.",
    "To list what runs in a cluster, call helm with the namespace that is meant. Logs are kept for 14 days and are "
    "then removed without notice.",
)


class Passage(NamedTuple):
    """said, in_other_words: by a sentence of an answer. not_said: on another matter."""

    language: str
    text: str
    said: str
    in_other_words: str
    not_said: str


PASSAGES = (
    Passage(
        "zh",
        "执行 helm list --all-namespaces -o json 导出。",
        "执行 helm list --all-namespaces -o json 导出。",
        "用 helm list -o json 可以导出。",
        "食堂每天早上七点开门。",
    ),
    Passage(
        "de",
        "Die Abgabefrist endet Montag um 18 Uhr. Sie gilt für alle Referate, die im Winter gehalten werden, und wird "
        "nicht verlängert.",
        "Die Abgabefrist endet Montag um 18 Uhr.",
        "Referate sind bis Montag um 18 Uhr abzugeben.",
        "Die Kantine öffnet jeden Morgen um neun.",
    ),
    Passage(
        "fr",
        "La laverie ferme à 21 heures. Les jetons sont vendus à la loge et au secrétariat, avec un reçu pour chacun.",
        "La laverie ferme à 21 heures.",
        "On peut laver son linge à la laverie jusqu'à 21 heures.",
        "La piscine est réservée aux enfants le mercredi.",
    ),
    Passage(
        "es",
        "Cada tarjeta perdida cuesta 40 euros. Debe comunicarse al conserje en dos días, y la copia se entrega en la "
        "oficina.",
        "Cada tarjeta perdida cuesta 40 euros.",
        "Perder una tarjeta cuesta 40 euros.",
        "La piscina está cerrada durante el invierno.",
    ),
    Passage(
        "it",
        "La sala prove si prenota in portineria entro il giovedì. Ogni ora costa 8 euro e si paga in anticipo.",
        "La sala prove si prenota in portineria entro il giovedì.",
        "Ogni ora nella sala prove costa 8 euro.",
        "Il parcheggio è gratuito per gli ospiti.",
    ),
    Passage(
        "pt",
        "A chave do barco fica na portaria até às 18 horas. Quem perder a chave paga 25 euros e avisa o porteiro.",
        "A chave do barco fica na portaria até às 18 horas.",
        "Quem perde a chave paga 25 euros.",
        "O estacionamento é gratuito para visitantes.",
    ),
    Passage(
        "sv",
        "Tvättstugan bokas på tavlan i källaren. Den som inte kommer inom 30 minuter förlorar sin tid till nästa "
        "granne.",
        "Tvättstugan bokas på tavlan i källaren.",
        "Man förlorar sin tid om man inte kommer inom 30 minuter.",
        "Hissen lagas av vaktmästaren på onsdag.",
    ),
    Passage(
        "pl",
        "Rower można wypożyczyć na trzy dni za kaucją 80 zł. Kaucja jest zwracana, gdy rower wróci bez uszkodzeń.",
        "Rower można wypożyczyć na trzy dni za kaucją 80 zł.",
        "Kaucja za rower wynosi 80 zł.",
        "Stołówka jest nieczynna w niedziele.",
    ),
    Passage(
        "nl",
        "De fietsenstalling gaat om middernacht dicht. Wie een fiets langer dan veertien dagen laat staan, betaalt 10 "
        "euro.",
        "De fietsenstalling gaat om middernacht dicht.",
        "Om middernacht sluit de fietsenstalling.",
        "Het zwembad heeft een nieuwe glijbaan.",
    ),
    Passage(
        "tr",
        "Kütüphane hafta sonu saat 17'de kapanır. Geç getirilen her kitap için günde 2 lira alınır.",
        "Kütüphane hafta sonu saat 17'de kapanır.",
        "Geç kalan kitap için günde 2 lira ödenir.",
        "Yüzme havuzu kışın kullanılmaz.",
    ),
    Passage(
        "vi",
        "Thư viện đóng cửa lúc 20 giờ các ngày trong tuần. Sách trả muộn bị phạt 5000 đồng mỗi ngày.",
        "Thư viện đóng cửa lúc 20 giờ các ngày trong tuần.",
        "Trả sách muộn bị phạt 5000 đồng một ngày.",
        "Bãi đỗ xe miễn phí cho khách tham quan.",
    ),
    Passage(
        "ja",
        "図書館は平日の午後八時に閉まります。返却が遅れた本は一日につき50円の料金がかかります。",
        "図書館は平日の午後八時に閉まります。",
        "返却が遅れると一日50円かかります。",
        "駐車場は来客に無料で開放されています。",
    ),
    Passage(
        "ru",
        "Библиотека закрывается в 20 часов по будням. За каждый день просрочки взимается 15 рублей.",
        "Библиотека закрывается в 20 часов по будням.",
        "Просрочка стоит 15 рублей за каждый день.",
        "Бассейн закрыт на ремонт до осени.",
    ),
    Passage(
        "ko",
        "도서관은 평일 오후 8시에 닫습니다. 연체된 책은 하루에 500원의 연체료가 있습니다.",
        "도서관은 평일 오후 8시에 닫습니다.",
        "연체료는 하루에 500원입니다.",
        "주차장은 방문객에게 무료입니다.",
    ),
)


def sources_of(*texts: str) -> tuple[AnswerSource, ...]:
    return tuple(
        AnswerSource(marker=number, chunk=chunk(number, text), scores=Scores(final=1 / number))
        for number, text in enumerate(texts, start=1)
    )
