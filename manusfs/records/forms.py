"""English words whose forms no stemmer brings together: irregular verbs and plurals, small numbers, short names."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["forms_of", "plain_form"]

_FORMS = """
arise arose arisen, awake awoke awoken, beat beaten, become became, begin began begun, bend bent, bet, bind bound,
bite bit bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built, buy bought,
catch caught, choose chose chosen, come came, creep crept, deal dealt, dig dug, draw drew drawn, drink drank drunk,
drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found, flee fled,
fly flew flown, forbid forbade forbidden, forget forgot forgotten, forgive forgave forgiven, freeze froze frozen,
get got gotten, give gave given, go went gone, grow grew grown, hang hung, hear heard, hide hid hidden, hold held,
keep kept, kneel knelt, know knew known, lay laid, lead led, leave left, lend lent, lie lain, light lit, lose lost,
make made, mean meant, meet met, mistake mistook mistaken, overcome overcame, pay paid, ride rode ridden,
ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought, sell sold, send sent, sew sewn,
shake shook shaken, shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat,
sleep slept, slide slid, speak spoke spoken, speed sped, spend spent, spin spun, spring sprang sprung, stand stood,
steal stole stolen, stick stuck, sting stung, strike struck stricken, swear swore sworn, sweep swept, swim swam swum,
swing swung, take took taken, teach taught, tear tore torn, tell told, think thought, throw threw thrown,
understand understood, undertake undertook undertaken, wake woke woken, wear wore worn, weave wove woven, weep wept,
win won, wind wound, withdraw withdrew withdrawn, write wrote written,
man men, woman women, child children kid, foot feet, tooth teeth, mouse mice, goose geese, person people, wife wives,
life lives, knife knives, leaf leaves, half halves, shelf shelves, wolf wolves, loaf loaves, thief thieves,
analysis analyses, crisis crises, thesis theses, basis bases, index indices, appendix appendices, matrix matrices,
vertex vertices, medium media, datum data, phenomenon phenomena, criterion criteria,
two 2, three 3, four 4, five 5, six 6, seven 7, eight 8, nine 9, ten 10, eleven 11, twelve 12,
first 1st, second 2nd, third 3rd, fourth 4th, fifth 5th,
mother mom mum, father dad, photograph photo picture, television tv, bicycle bike, good better best, bad worse worst
"""
_GROUPS = [tuple(group.split()) for group in _FORMS.replace("\n", " ").split(",")]
_GROUP_OF = {form: group for group in _GROUPS for form in group}
_ENDINGS = ("s", "es", "ing", "ed")


@lru_cache(maxsize=4096)
def forms_of(word: str) -> tuple[str, ...]:
    """Return the other forms of a folded word, as far as a stemmer would not find them; most words have none."""
    for base in _bases(word):
        if base in _GROUP_OF:
            return tuple(form for form in _GROUP_OF[base] if form != word)
    return ()


def plain_form(word: str) -> str:
    """Return the one form that stands for all forms of a folded word: "buy" for "bought", 2 for "two"."""
    group = next((_GROUP_OF[base] for base in _bases(word) if base in _GROUP_OF), (word,))
    return next((form for form in group if form[0].isdigit()), group[0])


def _bases(word: str) -> list[str]:
    bases = [word]
    for ending in _ENDINGS:
        if len(word) > len(ending) + 2 and word.endswith(ending):
            bare = word[: -len(ending)]
            # making, running
            bases += [bare, f"{bare}e"] + ([bare[:-1]] if bare[-1] == bare[-2] else [])
    return bases
