"""The words of the stories: people, their work, animals, things and places, and what can be said of each."""

from __future__ import annotations

from dataclasses import dataclass

BOYS = ("Tom", "Ben", "Sam", "Max", "Leo", "Jack", "Paul", "Adam")
GIRLS = ("Anna", "Mia", "Lily", "Emma", "Rosa", "Kate", "Nora", "Ida")
PRONOUNS = {
    "he": {"he": "he", "him": "him", "his": "his"},
    "she": {"he": "she", "him": "her", "his": "her"},
    "it": {"he": "it", "him": "it", "his": "its"},
}
"""By the pronoun of the subject: the forms as subject, as object, and before a noun"""


@dataclass(frozen=True, slots=True)
class Job:
    """What a person does for a living."""

    place: str
    """Where: after "the" """
    work: tuple[str, ...]
    """What the person did there"""
    product: str
    """What others came for"""


JOBS = {
    "baker": Job("bakery", ("baked bread", "baked cakes"), "some bread"),
    "farmer": Job("field", ("planted corn", "fed the cows"), "some corn"),
    "sailor": Job("harbour", ("cleaned the ship", "caught fish"), "some fish"),
    "painter": Job("studio", ("painted a picture", "mixed paint"), "a picture"),
    "gardener": Job("garden", ("watered the flowers", "planted roses"), "some roses"),
    "teacher": Job("school", ("taught the children", "read stories"), "some advice"),
    "cook": Job("kitchen", ("cooked soup", "washed the pots"), "some soup"),
    "tailor": Job("shop", ("sewed shirts", "cut cloth"), "a new shirt"),
    "carpenter": Job("workshop", ("built chairs", "cut wood"), "a strong chair"),
    "singer": Job("theatre", ("sang songs", "practised a song"), "a new song"),
    "doctor": Job("hospital", ("helped the sick", "gave people medicine"), "some medicine"),
}


@dataclass(frozen=True, slots=True)
class Animal:
    """What an animal is like, does and eats."""

    adjectives: tuple[str, ...]
    facts: tuple[str, ...]
    sound: str
    moves: tuple[str, ...]
    foods: tuple[str, ...]


ANIMALS = {
    "dog": Animal(
        ("big", "brown", "friendly"),
        ("had a long tail", "liked to swim"),
        "barked",
        ("ran after a stick", "dug a hole"),
        ("a bone", "some meat"),
    ),
    "cat": Animal(
        ("grey", "small", "lazy"),
        ("had green eyes", "slept all day"),
        "purred",
        ("climbed a tree", "chased a fly"),
        ("a fish", "some cream"),
    ),
    "bird": Animal(
        ("little", "yellow", "blue"),
        ("had bright feathers", "woke up early"),
        "sang",
        ("flew over the roof", "built a nest"),
        ("some seeds", "a worm"),
    ),
    "horse": Animal(
        ("white", "strong", "brown"),
        ("had long legs", "was very fast"),
        "neighed",
        ("jumped over a fence", "pulled a cart"),
        ("some hay", "a pear"),
    ),
    "mouse": Animal(
        ("tiny", "grey", "clever"),
        ("had round ears", "came out at night"),
        "squeaked",
        ("ran into a hole", "hid in a shoe"),
        ("some cheese", "a nut"),
    ),
    "rabbit": Animal(
        ("white", "soft", "shy"),
        ("had long ears", "was always quiet"),
        "sniffed",
        ("hopped across the grass", "dug a tunnel"),
        ("a carrot", "some lettuce"),
    ),
    "duck": Animal(
        ("little", "white", "funny"),
        ("had orange feet", "liked the rain"),
        "quacked",
        ("swam across the pond", "dived into the water"),
        ("some corn", "a worm"),
    ),
    "goat": Animal(
        ("old", "hungry", "white"),
        ("had two horns", "ate everything"),
        "bleated",
        ("climbed on a rock", "jumped over a fence"),
        ("some grass", "some leaves"),
    ),
    "frog": Animal(
        ("green", "tiny", "funny"),
        ("had big eyes", "could jump high"),
        "croaked",
        ("jumped into the pond", "sat on a leaf"),
        ("a fly", "a worm"),
    ),
    "bear": Animal(
        ("big", "brown", "sleepy"),
        ("had thick fur", "slept all winter"),
        "growled",
        ("caught a fish", "climbed a tree"),
        ("some honey", "some berries"),
    ),
}


@dataclass(frozen=True, slots=True)
class Thing:
    """What a thing is like, what people do with it, and what it does."""

    adjectives: tuple[str, ...]
    facts: tuple[str, ...]
    use: str
    """What a person did: `it` is added"""
    reason: str
    """Why someone wanted it"""
    happens: str
    """What it does when nobody wants it to; {t:his} is "its" """


THINGS = {
    "ball": Thing(
        ("red", "new", "big"),
        ("was round", "could bounce high"),
        "played with",
        "liked to play",
        "rolled into the river",
    ),
    "kite": Thing(
        ("blue", "big", "yellow"),
        ("had a long tail", "was made of paper"),
        "played with",
        "liked the wind",
        "flew over the trees",
    ),
    "book": Thing(
        ("old", "thick", "new"), ("had many pages", "told of pirates"), "read", "liked to read", "fell into the water"
    ),
    "hat": Thing(
        ("black", "warm", "green"), ("had a feather", "was made of wool"), "wore", "had cold ears", "blew away"
    ),
    "drum": Thing(
        ("small", "loud", "red"),
        ("made a deep sound", "was made of leather"),
        "played",
        "liked music",
        "rolled down the hill",
    ),
    "lamp": Thing(
        ("small", "bright", "old"), ("gave warm light", "needed oil"), "lit", "did not like the dark", "fell and broke"
    ),
    "cup": Thing(
        ("white", "blue", "pretty"), ("had a crack", "was full of tea"), "drank from", "liked tea", "fell and broke"
    ),
    "ring": Thing(
        ("golden", "silver", "pretty"),
        ("had a red stone", "shone in the sun"),
        "wore",
        "liked gold",
        "fell into the river",
    ),
    "doll": Thing(
        ("little", "pretty", "old"), ("had blue eyes", "had curly hair"), "played with", "liked dolls", "lost an arm"
    ),
    "map": Thing(
        ("old", "large", "strange"),
        ("showed an island", "was made of paper"),
        "looked at",
        "wanted to travel",
        "blew away",
    ),
    "boat": Thing(
        ("little", "green", "wooden"), ("had two sails", "could float"), "sailed", "loved the sea", "hit a rock"
    ),
    "flute": Thing(
        ("wooden", "silver", "small"),
        ("had six holes", "made a high sound"),
        "played",
        "liked music",
        "lost {t:his} sound",
    ),
    "scarf": Thing(
        ("warm", "long", "red"), ("was made of wool", "had white stripes"), "wore", "was often cold", "blew away"
    ),
    "bell": Thing(
        ("golden", "loud", "small"),
        ("made a clear sound", "was made of iron"),
        "rang",
        "liked the sound",
        "rolled down the hill",
    ),
    "sled": Thing(
        ("fast", "new", "wooden"), ("could carry two", "was painted red"), "rode", "liked the snow", "hit a tree"
    ),
    "clock": Thing(
        ("large", "old", "wooden"), ("showed the time", "ticked all night"), "looked at", "was always late", "stopped"
    ),
}
MADE_OF = ("golden", "silver", "wooden")
"""Adjectives that "very" does not stand before"""
PUT = (
    "in the box", "in the bag", "in the basket", "in the drawer", "in the cupboard", "under the bed", "under the chair",
    "under the tree", "on the table", "on the shelf", "behind the door", "behind the sofa", "near the window",
    "beside the fire",
)  # fmt: skip
"""Where something is put or found"""
SLEEPS = (
    "in the basket", "under the tree", "beside the fire", "behind the door", "near the window", "in the barn",
    "on the grass", "under a bush",
)  # fmt: skip
"""Where an animal sleeps"""
INDOORS = ("dog", "cat", "bird", "mouse", "rabbit", "frog")
"""Animals that are found in a house"""
GONE = (
    "to the park", "to the river", "to the forest", "to the market", "to the beach", "to the lake", "to the village",
    "to the zoo", "to the station", "to the library",
)  # fmt: skip
"""Where people go"""
HOMES = ("a small house", "a big house", "an old cottage", "a little hut", "a tall tower", "a quiet village")
NEAR = ("the river", "the forest", "the sea", "a lake", "a hill", "a mountain", "the road")


@dataclass(frozen=True, slots=True)
class Need:
    """How someone felt, why, and what helped."""

    why: tuple[str, ...]
    """What the person had or had not done"""
    helped: tuple[str, ...]
    """What the person did"""
    brought: tuple[str, ...]
    """What a friend brought"""


NEEDS = {
    "hungry": Need(
        ("had not eaten all day", "had missed breakfast"), ("ate some soup", "ate two eggs"), ("an apple", "a sandwich")
    ),
    "thirsty": Need(
        ("had not drunk all day", "had run a long way"),
        ("drank some water", "drank cold milk"),
        ("some water", "some juice"),
    ),
    "tired": Need(
        ("had worked all night", "had run a long way"),
        ("went to bed", "slept beside the fire"),
        ("a pillow", "some coffee"),
    ),
    "cold": Need(
        ("had lost a coat", "had walked in the snow"), ("made a fire", "drank hot tea"), ("a blanket", "a warm coat")
    ),
    "sad": Need(
        ("had lost a friend", "had failed a test"),
        ("sang a song", "called an old friend"),
        ("some flowers", "a letter"),
    ),
    "bored": Need(
        ("had nothing to do", "had stayed at home"), ("drew a picture", "told a joke"), ("a game", "a puzzle")
    ),
    "sick": Need(
        ("had eaten too much", "had slept in the rain"), ("stayed in bed", "took a pill"), ("some medicine", "hot soup")
    ),
}
WHEN = ("One day", "One morning", "One evening", "One summer day", "One winter day")
LATER = ("Then", "Later", "After that", "Soon", "In the evening")
HAPPY = ("happy", "glad", "proud", "very happy")
_ALL = """
, . ? A a across Adam advice afraid After after again all always an and Anna any apple arm at ate away bag baked baker
bakery ball barked barn basket beach bear Because because bed behind bell Ben berries beside big bird birthday black
blanket bleated blew blue boat bone book bored bought bounce box boy bread breakfast bright bring broke brought brown
built bush But but cake cakes called came carpenter carrot carry cart cat caught chair chairs chased cheese children
cleaned clear clever climbed clock cloth coat coffee coin cold cook cooked corn cottage could cows crack cream croaked
cup cupboard curly cut danced dark day deep did dived do doctor dog doll dolls door down drank drawer drew drum drunk
duck dug early ears eat eaten eggs Emma evening every everything eyes failed farmer fast faster feather feathers fed
feet fell fence field find fire fish flew float flowers flute fly for forest found friend friendly friends frog From
from full funny fur game garden gardener gave girl give glad go goat gold golden good grass green grey growled had
hair happy harbour hat hay He he heard helped her hid high hill him his hit hole holes home honey hopped horns horse
hospital hot house hungry hut Ida In in into iron island It it its Jack joke jokes juice jump jumped Kate kept kitchen
kite lake lamp large late Later laughed lazy leaf leather leaves legs Leo letter lettuce library light like liked Lily
lit little lived long looked lost loud loved made many map market Max meat medicine Mia milk missed mixed more morning
mountain mouse much music named near needed neighed nest new night noise Nora not nothing Now nut of often oil old on
Once One orange out over pages paint painted painter paper park Paul pear people picture pill pillow pirates planted
play played pond pots practised pretty proud pulled purred put puzzle quacked quiet rabbit rain ran rang read red ring
river road rock rode rolled roof Rosa roses round run sad sailed sailor sails Sam sandwich sang sat saw scarf school
sea see seeds sewed She she shelf ship shirt shirts shoe shone shop showed shy sick silver singer six sled sleep
sleepy slept small sniffed snow So so sofa soft Some some song songs Soon sorry sound soup squeaked station stayed
stick stone stopped stories strange stripes strong studio summer sun swam swim table tail tailor tall taught tea
teacher test thanked That that The the theatre Then then There there They they thick thirsty ticked time tiny tired to
told Tom too took tower travel tree trees tunnel two under until up very village waited walked want wanted warm was
washed water watered way went were What When when Where white Who Why wind window winter with woke won wood wooden
wool wore worked workshop worm yellow zoo
"""
VOCABULARY = tuple(_ALL.split())
"""All words of the stories, punctuation included"""
