"""Nouns by what they tell about somebody: data for the families."""

from __future__ import annotations

import re
from typing import Final

from memstone.core.text.lexicon import KIN, PETS


def _any_of(words: frozenset[str] | str) -> str:
    listed = words.split() if isinstance(words, str) else words
    return "|".join(sorted(listed, key=len, reverse=True))


RELATIVES: Final = _any_of(
    KIN | frozenset("nieces nephews aunts uncles grandad granddad granny gran nana boys girls twins triplets".split())
)
ANIMALS: Final = _any_of(
    PETS
    | frozenset(
        """puppies kittens rabbits hamsters bird birds budgie canary tortoise turtles snake lizard gecko ferret ferrets
    chickens hens goat goats pony horses corgi poodle labrador retriever greyhound dachshund husky beagle spaniel terrier
    beehives""".split()
    )
)
BARE_RELATIVES: Final = "mum|mom|dad|grandma|grandpa|granny|grandad|granddad|nana|auntie|uncle"
"""Words for one's own people that need no "my"."""

AILMENTS: Final = _any_of(
    """allergy allergies asthma diabetes adhd anxiety depression migraine migraines insomnia arthritis pain knee ankle wrist
    surgery disease disorder syndrome intolerance medication insulin epilepsy cancer injury eczema pressure tinnitus
    reflux anemia anaemia autism dyslexia ptsd hernia concussion fever vertigo scoliosis lupus psoriasis glaucoma sciatica"""
)
STATES_OF_HEALTH: Final = r"allergic|diabetic|asthmatic|vegan|vegetarian|pescatarian|gluten[- ]free|lactose|celiac|coeliac|dyslexic|autistic|(?:\S+ )?colou?r[- ]?blind|deaf|blind|diagnosed|sober|left[- ]handed|right[- ]handed|nearsighted|short[- ]sighted|pregnant|intolerant|epileptic|anemic|anaemic|hard of hearing|on (?:a|the) (?:\w+ )?diet|on \d+ ?mg|type [12]\b"
TIES: Final = r"married|divorced|engaged|single|widowed|separated|expecting|adopted|(?:dating|seeing) (?:a |an |someone|somebody|(?-i:[A-Z]))|an only child|the (?:oldest|eldest|youngest|middle) of|a (?:\w+ )?(?:mother|father|mom|mum|dad|parent|grandmother|grandfather|widow|widower|twin)"
ORIGINS: Final = r"(?:originally )?(?:from|born|raised)|(?:called|known as|named) \w|\d{1,3}(?! ?(?:minutes|hours|days|percent|%|km|miles|weeks|min|am|pm|:))\b|\d'\d|\d+ ?cm\b"
CREEDS: Final = r"(?:a |an )?(?:(?:trans|cis|non-?binary|gay|lesbian|bisexual|queer|straight|asexual|agnostic|atheist|muslim|christian|catholic|jewish|buddhist|hindu|sikh|mormon|protestant)\b|(?-i:[A-Z][a-z]+(?:an|ish|ese|ic|ch|i)\b))"
LIKINGS: Final = r"(?:really |also |not |such |always |more |mostly )*(?:a |an )?(?:big |huge |massive |real |lifelong )*(?:fan of|into|fond of|obsessed with|crazy about|addicted to|keen on|partial to|interested in|passionate about|hooked on|sick of|tired of|fed up with|all about|allowed to love|drawn to|fascinated by|afraid of|scared of|terrified of)"
ABILITIES: Final = r"(?:\w+ )?(?:fluent in|good at|great at|bad at|terrible at|decent at|proficient in|certified in|a beginner (?:in|at|with)|an expert (?:in|on)|new to|self-taught)"
PLANS_AHEAD: Final = r"(?:planning|off to (?-i:[A-Z])|(?:really )?hoping to|going to|going on|hoping to|looking to|saving (?:up )?|about to|getting ready for|flying|travel+ing|visiting|starting|preparing|expecting|scheduled|applying|training for|moving|taking (?:part|(?:the|my|an?) (?:[\w-]+ )*?(?:exam|test|class|course|lessons?|trip|train|bus|job|flight))|having (?:my|an?) |thinking of|remodel+ing the|renovating)"
STATES_OF_WORK: Final = r"(?:now |currently )?(?:self[- ]employed|unemployed|retired|freelance|freelancing|between jobs|out of work|employed|(?:fully )?remote|on (?:parental|maternity|paternity|sick|medical) leave|an? intern|in (?:\w+ )?(?:school|college|university|sales|marketing|finance|tech|it|hr|logistics|retail|construction|real estate|grad school))"
TRADE: Final = re.compile(
    r"^(?:a|an|the|now a|now an) (?!bit|little|lot|\w+ (?:of|bit)\b|mess|idiot|genius|number|matter|reminder|winner|killer|monster|believer|lover|fighter|survivor|leader\b)(?:[\w'-]+ ){0,4}?(?:\w+(?:er|or|ist|ian|eer|ant|man|yst|smith|wright|keeper|woman)|nurse|chef|vet|pilot|clerk|coach|nanny|student|freelancer|intern|lead|founder|cofounder|ceo|cto|phd|midwife|judge|monk|priest|chemist|surgeon|major)s?\b",
    re.IGNORECASE,
)
HOME_THINGS: Final = _any_of(
    "home house apartment flat place address hometown area town village neighbourhood neighborhood city rent landlord landlady room street"
)
WORK_THINGS: Final = _any_of(
    """job boss manager employer company team role title profession office salary career commute shift business startup work
    studio shop store store's clinic practice firm bakery restaurant wage pay bonus contract desk department supervisor advisor"""
)
OWN_THINGS: Final = _any_of(
    """car bike phone laptop computer boat camera guitar piano keyboard watch truck motorcycle garden tablet desktop setup
    editor browser os bank budget plan subscription email number username handle wifi printer timezone locker console van
    scooter drone fridge oven violin drums cello synth macbook iphone ipad kindle insurance membership password hint"""
)
DATED_THINGS: Final = _any_of(
    """anniversary wedding graduation appointment interview exam flight deadline surgery party trip vacation holiday visa
    lease passport license licence birthday marathon race recital concert defense defence due-date deadline"""
)
PERSONAL_THINGS: Final = _any_of(
    """pronouns birthday age nationality language tongue zodiac religion surname height weight name nickname degree major
    citizenship blood-type star-sign ethnicity background"""
)
PROJECT_THINGS: Final = _any_of(
    """project app application product codebase repo repository database db backend frontend api server servers service
    pipeline stack website site launch release sprint client customer meeting standup stand-up book novel thesis paper game
    course cluster framework ci deployment tests docs codename screenplay script blog channel podcast album song exhibit
    campaign charity class classes workshop program group band league season research dissertation portfolio lunch code key"""
)
HOBBY_THINGS: Final = _any_of(
    """hobby hobbies interests passion dream goal goals routine ritual tradition specialty speciality skill skills french
    german spanish english italian japanese favorites favourites allergies allergy languages plan diet doctor medication"""
)
PAPERS: Final = _any_of(
    "license licence degree diploma certificate certification phd doctorate bachelor master masters belt citizenship"
)
APPOINTMENTS: Final = _any_of(
    """appointment interview exam flight meeting trip wedding deadline presentation surgery audition recital reservation
    tickets plans"""
)
