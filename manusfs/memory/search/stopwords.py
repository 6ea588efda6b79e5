"""Words that say nothing about what is looked for; left out of queries, never out of the index."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["STOP_PAIRS", "stop_words"]

_ENGLISH = frozenset(
    """
a about above after again against all also am an and any are aren't as at be because been before being below between
both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further
had hadn't has hasn't have haven't having he her here hers herself him himself his how i if in into is isn't it its it's
itself just let's like me more most my myself no nor not of off on once only or other our ours ourselves out over own
please same she should shouldn't so some such tell than that that's the their theirs them themselves then there these
they this those through to too under until up us very was wasn't we were weren't what what's when where which while who
whom whose why will with won't would wouldn't you your yours yourself yourselves
""".split()
)
_GERMAN = """
aber als am an auch auf aus bei bin bis bist da damit dann das dass dein dem den der des die dies diese dieser dieses
doch dort du durch ein eine einem einen einer eines er es euer für hat hatte hier ich ihr ihre im ist ja kann kein keine
man mein mich mir mit nach nicht noch nur oder ob sein seine sich sie sind so über um und uns unter vom von vor wann war
waren warum was weil welche welcher welches wenn wer werden wie wird wo wurde wurden zu zum zur
""".split()
_FRENCH = """
au aux avec ce ces cette comment dans de des du elle en est et eu il ils je la le les leur lui mais me même mes moi mon
ne nos notre nous on ont ou où par pas pour pourquoi quand que quel quelle quelles quels qui sa sans se ses son sont sur
ta te tes toi ton tu un une vos votre vous
""".split()
_SPANISH = """
al algo como cómo con cual cuál cuando cuándo de del desde donde dónde el ella ellos en entre era es esta está este esto
fue ha han hasta hay la las le les lo los más me mi muy no nos o para pero por porque que qué quien quién se sin sobre
son su sus también te tiene un una uno y ya yo
""".split()

_OTHERS = (frozenset(_GERMAN), frozenset(_FRENCH), frozenset(_SPANISH))


def stop_words(words: Collection[str]) -> frozenset[str]:
    """Return the stop words for a query of these words: English, and its own language where that shows.

    "die", "hat" and "war" are no stop words of an English question.
    """
    english = sum(word in _ENGLISH for word in words)
    best = max(_OTHERS, key=lambda language: sum(word in language for word in words))
    shown = sum(word in best for word in words)
    return _ENGLISH | best if shown >= 2 and shown > english else _ENGLISH


STOP_PAIRS = frozenset(
    "什么 怎么 多少 哪些 哪个 哪里 如何 为何 为什 是否 请问 这个 那个 以及 及其 关于 对于 根据 其中 有关 "
    "什麼 怎麼 哪裡 為何 為什 這個 那個 關於 對於 根據"
    " です ます した して から まで には では この その どの とは".split()
)
"""Chinese and Japanese pairs that only ask or join."""
