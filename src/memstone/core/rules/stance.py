"""The stance of a clause (for or against, ending, changing) and the words that say what it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from memstone.core.text.clues import clues_of_all, compile_with_clues, is_possible
from memstone.core.text.lexicon import (
    AVERSION,
    CESSATION,
    CESSATION_AROUND,
    IRREGULAR,
    LIGHT,
    NEGATIONS,
    NOT_NEGATIVE,
    PHRASES,
    SYNONYMS,
)
from memstone.core.text.stem import stem_word

# --- numbers with what they count, and days, out of lower-case text ---------------------------------------------------


_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMERALS: Final = {word: str(value) for value, word in enumerate(_ONES)} | {
    word: str(10 * value) for value, word in enumerate(_TENS, 2)
}
_COMPOUND: Final = re.compile(r"\b(" + "|".join(_TENS) + r")[ -](" + "|".join(_ONES[1:10]) + r")\b")
_MONTHS: Final = "january february march april may june july august september october november december".split()


def spelled_digits(text: str) -> str:
    """Compound numerals as digits: "twenty-eight" is 28, "six hundred and forty" is 640, "fifteen grand" 15000."""
    text = _COMPOUND.sub(lambda match: str(int(NUMERALS[match[1]]) + int(NUMERALS[match[2]])), text)
    text = _HUNDREDS.sub(_convert_hundreds, text) if "hundred" in text else text
    return _GRAND.sub(_convert_thousands, text) if "thousand" in text or "grand" in text else text


_SPELLED: Final = r"\d+|" + "|".join([*_ONES[1:], *_TENS])
_HUNDREDS: Final = re.compile(
    rf"\b({_SPELLED}|a) hundred(?: and ({_SPELLED})| ({_SPELLED})(?! (?:hundred|thousand|grand)))?\b"
)
_GRAND: Final = re.compile(rf"\b({_SPELLED}|a) (?:thousand|grand)\b(?! piano)")


def _convert_hundreds(match: re.Match[str]) -> str:
    return str(100 * _parse_number(match[1]) + _parse_number(match[2] or match[3] or "0"))


def _convert_thousands(match: re.Match[str]) -> str:
    return str(1000 * _parse_number(match[1]))


def _parse_number(word: str) -> int:
    return 1 if word == "a" else int(NUMERALS.get(word, word))


MONTHS: Final = frozenset(month[:3] for month in _MONTHS)
"""Months as they stand in days."""

_MONTH: Final = "|".join(month[:3] + (f"(?:{month[3:]})?" if month[3:] else "") for month in _MONTHS)
_DAY: Final = re.compile(
    rf"\b(?:({_MONTH})\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?\b|(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({_MONTH})\b|(\d{{4}}-\d{{2}}-\d{{2}})\b)"
)
_IN_MONTH: Final = re.compile(rf"\b(?:in|to|until|by|for|this|next|since) ({'|'.join(_MONTHS)})\b(?! \d{{1,2}}\b)")
_WEEKDAY: Final = re.compile(r"\b(monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b")
_BORN: Final = re.compile(r"\bborn in (\d{4})\b")


def find_date_spans(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The same, each with where a lower-case text names it."""
    for match in _DAY.finditer(text):
        yield match[5] or f"{(match[1] or match[4])[:3]} {int(match[2] or match[3])}", match.span()
    for match in _WEEKDAY.finditer(text):
        yield match[1], match.span()
    for match in _IN_MONTH.finditer(text):
        yield match[1][:3], match.span(1)
    for match in _BORN.finditer(text):
        yield match[1], match.span(1)


# --- the stance of a clause (for or against, ending, changing) and the words that say what it is ----------------------


_NEGATION: Final = compile_with_clues(r"\b(?:" + "|".join(sorted(NEGATIONS)) + r")\b")
_ALONE: Final = r"(?<![\w-])"
"""Not the second half of a word such as "noise-cancelling"."""

_AGAINST: Final = compile_with_clues(rf"{_ALONE}(?:{CESSATION}|{CESSATION_AROUND}|{AVERSION})\b")
_ENDS: Final = compile_with_clues(rf"{_ALONE}(?:{CESSATION}|{CESSATION_AROUND})\b")
_NOT_NEGATIVE: Final = compile_with_clues(rf"\b(?:{NOT_NEGATIVE})\b")
_CANCELLED: Final = compile_with_clues(rf"\b(?:not|never|no longer)(?: \w+)? (?!any ?more)(?:{CESSATION}|{AVERSION})\b")
"""A negation right before a negative word undoes it: "do not dislike", "never stopped"."""

_CHANGE: Final = compile_with_clues(
    rf"\b(?:{CESSATION}|switch\w*|chang\w+|mov(?:ed|ing)|now|again|instead|start(?:s|ed|ing)?|beg[au]n|began|resum\w+"
    r"|return\w+|joined|became|become|decid\w+|new|finally|replac\w+|swap\w*|trad(?:ed|ing)|upgrad\w+|turned"
    r"|chose|no longer|anymore|sign(?:ed|ing) up|resubscrib\w+|picked up|took up|back (?:to|on|in)|these days|actually"
    r"|slipp\w+|push(?:ed|ing) (?:back|to)|delay\w+|reschedul\w+|brought forward|going (?:up|down)|went (?:up|down)|rais\w+|cut to|doubled|halved|downgrad\w+|renam\w+|migrat\w+|after all|from (?:now|today|here|next)|nowadays|at last|by now|turns out|correction)\b"
)
_PHRASES: Final = tuple((compile_with_clues(pattern), words) for pattern, words in PHRASES)
_PHRASE_CLUES: Final = clues_of_all(pattern for pattern, _ in _PHRASES)


def canonicalize_phrases(lowered: str) -> str:
    """A lower-case sentence with set phrases in plain words: "between jobs" is "unemployed"."""
    lowered = spelled_digits(lowered)
    for pattern, words in _PHRASES if is_possible(lowered, _PHRASE_CLUES) else ():
        lowered = pattern.sub(words, lowered)
    return lowered


def polarity_of(clause: str) -> int:
    """-1 when a clause denies, ends or dislikes something, else +1; "never stopped" is a yes."""
    cleaned = _NOT_NEGATIVE.sub(" ", clause)
    if not _AGAINST.search(cleaned) and not _NEGATION.search(cleaned):
        return 1
    return 1 if _CANCELLED.search(cleaned) else -1


def is_negated(clause: str) -> bool:
    """Whether a clause holds a negation."""
    return bool(_NEGATION.search(_NOT_NEGATIVE.sub(" ", clause)))


def has_ending_word(clause: str) -> bool:
    """Whether a clause ends something."""
    return bool(_ENDS.search(_NOT_NEGATIVE.sub(" ", clause)))


def has_change_word(clause: str) -> bool:
    """Whether a clause has a word of change."""
    return bool(_CHANGE.search(clause))


@lru_cache(maxsize=8192)
def canonical_token(word: str) -> str:
    """The form in which a word is compared: its synonym group, or its stem."""
    word = IRREGULAR.get(word, word)
    return SYNONYMS.get(word) or stem_word(word)


_LIGHT_TOKENS: Final = frozenset(stem_word(word) for word in LIGHT) | LIGHT


def is_light(word: str) -> bool:
    """Whether a token says little."""
    return word in _LIGHT_TOKENS or word[:1].isdigit()


# --- what a statement is about, in kinds of things of which people usually have one at a time. Data -------------------


_WORDS: Final = {
    "home": """live in, lives in, living in, live on, lives on, live near, lives near, live at, lives at, living on, moved to, moved into,
        moved house, moved in, moving to, settled in, settled into, flat, apartment, house, condo, bungalow, cottage, studio, houseboat,
        rent, rents, renting, rented, tenant, landlord, landlady, lease, homeowner, homeowners, new place, relocat*, resid*, my place,
        the keys, duplex, townhouse, village, suburb, suburbs, neighbourhood, neighborhood, based in, two-bed, one-bed, bedsit, loft""",
    "household": """live with, lives with, living with, living alone, lives alone, live alone, roommate, roommates, roomie, roomies,
        flatmate, flatmates, housemate, housemates, parents, the nest, moved out, moving in, moved in, to myself, on my own,
        nursing home, care home, our own place, own place""",
    "work": """work at, works at, work for, works for, work as, works as, work in, works in, working at, working for, working as, job, jobs,
        employ*, hired, fired, sacked, laid off, redundan*, let go, us go, me go, resign*, my notice, freelanc*, self-employed, payroll,
        in-house, retired, retire, retires, retirement, career, promot*, bumped up, made partner, position, role, company, startup, shift, shifts,
        teach, teaches, teacher, teaching, classroom, analyst, engineer, nurse, accountant, consultant, lawyer, solicitor, waiter,
        waitress, barista, chef, baker, designer, developer, interview, interviews, contract, job offer, intern, apprentice*, supervisor,
        day job, signed with, paralegal, electrician, plumber, journalist, librarian, receptionist, cashier, unemployed, applying,
        employer, badge, desk job, gig, nine-to-five, carpenter, architect, pharmacist, clerk, secretary, part-time, full-time,
        own business, own boss, manager at, director, head of, welder, mechanic, dispatcher, courier, cook, bartender, paramedic""",
    "team": "team, squad, crew, department, division",
    "boss": "manager, boss, supervisor, report to, reports to, reporting to, team lead, line manager",
    "car": """car, cars, truck, van, minivan, suv, hatchback, drive a, drives a, drives an, drive an, driving a, wheels, ev, hybrid, rav4, cr-v,
        pickup, toyota, honda, ford, vw, volkswagen, bmw, audi, mercedes, tesla, kia, hyundai, mazda, nissan, skoda, dacia, renault,
        peugeot, citroen, citroën, fiat, opel, vauxhall, volvo, subaru, jeep, lexus, mini cooper, chevrolet, chevy, porsche, suzuki,
        mitsubishi, saab, polestar, rivian, ioniq, corolla, civic, prius, yaris, model 3, model s, model y, zoe, duster, octavia,
        polo, punto, clio, kona, fiesta, passat, tiguan, qashqai, sportage, forester, outback, camry, accord, impreza, twingo, megane,
        astra, corsa, land rover, range rover, jaguar, alfa romeo, byd, cupra, mustang, bronco, f-150, estate car, station wagon""",
    "two wheels": "motorbike, motorcycle, scooter, vespa, moped, harley, ducati, yamaha, kawasaki, triumph",
    "phone": """phone, smartphone, handset, mobile, android, s21, s22, s23, s24, s25, iphone, pixel, galaxy, fairphone, nokia, oneplus, xiaomi, huawei,
        motorola, redmi, dumbphone, flip phone""",
    "computer": """laptop, pc, desktop, tower, macbook, imac, mac mini, computer, steam deck, thinkpad, xps, chromebook, lenovo, zenbook,
        ideapad, elitebook, dell, asus, acer, gaming rig, workstation""",
    "watch": "watch, smartwatch, wrist, apple watch, garmin, fitbit, pebble",
    "console": "console, gaming, playstation, ps4, ps5, xbox, nintendo, switch 2, steam deck",
    "camera": "camera, nikon, canon, fujifilm, fuji, leica, sony a7, dslr, mirrorless, shoots with, shoot with",
    "diet": """keto, vegan, vegetarian, veggie, pescatarian, paleo, carnivore, meat, steak, bacon, burger, burgers, chicken, gluten, coeliac,
        celiac, wheat, bread, carb, carbs, diet, dairy, lactose, cheese, fasting, eat, eats, eating, sugar, halal, kosher, plant-based,
        breakfast, low-carb, fish, seafood, eggs, omnivore""",
    "alcohol": """alcohol, wine, beer, sober, sobriety, drink, drinks, drinking, drinker, booze, teetotal*, dry january, glass of, pint, pints, whisky,
        whiskey, cocktail, cocktails, the wagon, gin""",
    "smoking": """smoke, smokes, smoked, smoker, smoking, non-smoker, smoke-free, cigarette, cigarettes, cigs, cig, vape, vapes, vaping, nicotine, tobacco,
        a pack, fags, ciggies""",
    "caffeine": """coffee, espresso, latte, lattes, cappuccino, cappuccinos, flat white, flat whites, cortado, tea, matcha, decaf, caffeine, energy drink,
        energy drinks, americano""",
    "love": """married, marriage, divorc*, dating, single, seeing a, seeing an, seeing someone, seeing somebody, seeing this, girlfriend,
        boyfriend, partner, husband, wife, fianc*, engaged, engagement, split up, splits up, broke up, broken up, relationship, my ex, separated,
        proposed, said yes, dumped, the knot, widow*, got hitched, hitched, newlywed*, going out with, moved in together, long-distance, in love""",
    "wedding": "wedding, ceremony, venue, reception, honeymoon, bridesmaid*",
    "pet": """dog, dogs, puppy, cat, cats, kitten, parrot, budgie, bird, hamster, rabbit, bunny, guinea pig, horse, pony, goldfish, turtle, tortoise,
        snake, gecko, lizard, ferret, pet, pets, beagle, labrador, poodle, terrier, collie, spaniel, tabby, rehomed, retriever, corgi, greyhound,
        dachshund, chickens, hens, aquarium, fish tank""",
    "weight": "weigh, weighs, weight, kg, kilo, kilos, lb, lbs, pounds, stone, scale, scales",
    "age": """years old, turned, turning, birthday, three-oh, four-oh, five-oh, six-oh, seven-oh, aged, age, year-old, thirties, forties, fifties, big 30, big 40,
        big 50, big 60""",
    "name": "name, called, surname, nickname, goes by, go by, going by, call me, known as, pronouns, pronoun, ms, mrs, username, handle",
    "timezone": """time zone, timezone, pacific time, eastern time, central time, mountain time, european time, greenwich time, cet, cest, est, pst, gmt,
        utc, utc+*, hours ahead, hours behind""",
    "gym": "gym, gyms, fitness, crossfit, membership, member at, puregym, gold's, workout, workouts, pilates, yoga, trainer, pt, the weights",
    "medicine": """takes, mg, dose, dosage, meds, medication, tablet, tablets, pill, pills, prescri*, weaned, insulin, inhaler, statin, statins,
        antidepressants, sertraline, metformin, ibuprofen, lisinopril, levothyroxine, prozac, ssri, antibiotics, blood thinners, ozempic, pump""",
    "illness": """wheelchair, disability, disabled, prosthesis, hearing aid, diabet*, prediabet*, a1c, type 1, type 2, blood pressure, readings, asthma, asthmatic, migraine, migraines, allerg*, intoleran*, diagnos*,
        misdiagnos*, cast, crutches, broken, sprain*, injur*, surgery, physio, recover*, healed, remission, anaemi*, anemi*, iron, hay fever, cancer,
        knee, back pain, therapy, all clear, cleared me, insomnia, arthritis, tendonitis, boot came off""",
    "dentist": "dentist, teeth, tooth, root canal, orthodontist, braces, hygienist",
    "doctor": "doctor, gp, dr, dr., physician, the practice, specialist, clinic",
    "therapist": "therapist, therapy, counsellor, counselor, psychologist, psychiatrist, shrink",
    "school": """school, schools, kindergarten, nursery, preschool, pre-school, grade, grader, elementary, primary, daycare, attends, high school,
        starts at, year one, year two, middle school, secondary, academy, homeschool*""",
    "study": """study, studies, studying, degree, major, majoring, university, college, uni, mba, phd, masters, master's, bachelor*, course, bootcamp, semester,
        semesters, thesis, dissertation, viva, law, medicine, graduat*, dropped out, exam, exams, certificate, diploma, lectures, evening classes""",
    "music service": "spotify, tidal, apple music, youtube music, deezer, qobuz, music streaming, soundcloud",
    "tv service": "netflix, disney, disney+, hbo, hulu, prime video, amazon prime, apple tv, paramount, mubi, crunchyroll, streaming, youtube premium",
    "reading": "kindle, kobo, e-reader, ereader, audible, audiobooks, paperbacks, newspaper, new york times, economist, guardian",
    "bank": """bank, banks, account, accounts, monzo, revolut, chase, barclays, hsbc, santander, wells fargo, credit union, n26, starling, savings, lloyds,
        citibank, ally""",
    "provider": """internet, broadband, wifi, provider, vodafone, verizon, at&t, t-mobile, comcast, fibre, fiber, phone plan, sim, carrier, o2, ee, octopus,
        british gas, electricity, supplier, insurance, insurer, insured, aviva, geico, mint mobile""",
    "hosting": """heroku, fly.io, aws, azure, gcp, vercel, netlify, digitalocean, hetzner, deploy, deploys, deployed, hosting, hosted, hosts, servers,
        server, cloud, on-prem, kubernetes, k8s, docker, bare metal, railway, cloudflare""",
    "pipeline": "ci, jenkins, github actions, gitlab, gitlab ci, circleci, travis, buildkite, github, bitbucket, pipeline, pipelines",
    "frontend": """react, vue, svelte, angular, redux, zustand, mobx, next.js, nextjs, nuxt, jquery, htmx, frontend, front end, state management,
        tailwind, bootstrap, astro, flutter, react native""",
    "backend": "django, flask, fastapi, rails, laravel, nestjs, backend, phoenix, .net, graphql, grpc, deno, bun",
    "language": """java, kotlin, python, golang, go, rust, typescript, javascript, ruby, php, scala, elixir, swift, c++, c#, perl, haskell, clojure, code in,
        codes in, programs in, zig, julia, matlab""",
    "database": "postgres*, mysql, mariadb, mongo*, sqlite, dynamodb, redis, oracle, sql server, cassandra, database, databases, db, supabase, firebase",
    "editor": "vim, neovim, nvim, emacs, vs code, vscode, intellij, pycharm, sublime, zed, cursor, webstorm, editor, ide, helix, eclipse, xcode",
    "notes": """notion, obsidian, evernote, onenote, apple notes, roam, logseq, notes, note-taking, to-do, to-dos, todoist, things 3, trello, asana, jira, linear,
        ticktick, planner, bullet journal, journal, google keep, task manager, google calendar, calendar""",
    "tracker": "jira, linear, asana, trello, clickup, youtrack, basecamp, redmine, bugzilla, wrike, issue tracker, ticket system, track issues, tracks issues",
    "browser": "chrome, firefox, safari, brave, edge, vivaldi, opera, browser, arc browser",
    "mail": "gmail, outlook, protonmail, proton, fastmail, thunderbird, e-mail, email, inbox, mailbox, mail",
    "system": "windows, linux, ubuntu, macos, mac, fedora, debian, operating system, dual boot",
    "design": "figma, photoshop, lightroom, penpot, affinity, adobe, illustrator, canva, gimp, darktable, capture one, davinci, premiere, final cut",
    "chat": "slack, microsoft teams, discord, whatsapp, telegram, messenger, zoom, google meet",
    "work chat": "slack, microsoft teams, to teams, on teams, uses teams, use teams, mattermost, rocket.chat, google chat, zulip",
    "social": "facebook, instagram, twitter, tiktok, linkedin, mastodon, bluesky, reddit, snapchat",
    "wake": """wakes up, wake up, waking up, lights out, hours of sleep, gets up, get up, getting up, woke, alarm, up at, early riser, night owl, morning person, bed at, bed by, bedtime,
        sleep, sleeps, sleeping, wakes, up early, early bird""",
    "commute": """commut*, to the office, to work, train, bus, tram, tube, subway, metro, bike, e-bike, cycle, cycles, cycling, carpool*, walks to, walk to, remote,
        remotely, homeoffice, onsite, work from home, works from home, in the office""",
    "baby": "pregnan*, due in, due date, expecting, baby, newborn, twins, trimester, ivf, gave birth, maternity, was born, arrived",
    "money": "salary, earn, earns, budget, save, saves, saving, savings, loan, debt, mortgage, paid off, pay, pays, owe, owes, overdraft, raise",
    "instrument": """guitar, piano, violin, viola, cello, drum, drums, bass, trumpet, sax, saxophone, flute, ukulele, banjo, clarinet, harp, keyboard, instrument,
        lessons, accordion, trombone, oboe""",
    "spoken": """spanish, french, german, italian, portuguese, dutch, japanese, korean, mandarin, chinese, arabic, russian, polish, swedish, norwegian, danish,
        finnish, greek, turkish, welsh, hindi, duolingo, learning""",
    "sport": """run, runs, running, marathon, football, soccer, tennis, basketball, climb*, boulder*, swim*, cycling, golf, rugby, hockey, yoga, pilates, crossfit,
        karate, judo, boxing, badminton, squash, padel, rowing, skiing, league, my boots, volleyball, cricket, triathlon, dancing, salsa, ballet, surf*""",
    "trip": """trip, travel*, visit, visiting, flight, flights, flying, fly, holiday, vacation, honeymoon, booked, itinerary, cruise, backpack*, road trip,
        camping, weekend away, plane, going to""",
    "project": "project, working on, migration, rewrite, redesign, launch*, shipped, feature, app, product, novel, thesis, manuscript, building, renovat*",
    "club": "choir, club, band, volunteer*, shelter, orchestra, committee, the board, board member, church, scouts, allotment, class, classes",
    "hair": "hair, clean-shaven, haircut, blonde, blond, brunette, bald, beard, moustache, fringe, bangs, shaved, dyed, curls, pixie cut",
    "glasses": "glasses, specs, spectacles, eyes, lasered, contacts, contact lenses, lasik, laser eye, lenses",
    "visa": "visa, green card, pr, citizen*, permanent residen*, passport, permit, naturali*",
    "favourite": "favourite, favourites, favorite, favorites, number one, top spot, all-time, go-to, best ever",
    "fandom": "support, supports, supporter, fan of, football club, season ticket, united, rooting for",
    "seat": "window seat, aisle, aisle seat",
    "answers": "answers, replies, responses, emojis, emoji, bullet points, short answers, formal, informal, metric, imperial, dark mode, light mode",
}


_WORD: Final = re.compile(r"[a-zà-ÿ0-9.][\w'&+#.-]*")
_MOST_WORDS: Final = 3
_SHORTEST_STEM: Final = 4


def _build_topic_tables() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    whole: dict[str, set[str]] = {}
    stems: dict[str, set[str]] = {}
    for topic, listed in _WORDS.items():
        for entry in listed.split(","):
            words = " ".join(entry.split())
            table = stems if words.endswith("*") else whole
            table.setdefault(words.removesuffix("*"), set()).add(topic)
    return whole, stems


_WHOLE, _STEMS = _build_topic_tables()
_LONGEST_STEM: Final = max(map(len, _STEMS))


@lru_cache(maxsize=4096)
def topics_of(lowered: str) -> frozenset[str]:
    """The kinds of things a lower-case text speaks of."""
    words = [word.rstrip(".'-").removesuffix("'s") or word for word in _WORD.findall(lowered)]
    found: set[str] = set()
    for at in range(len(words)):
        for size in range(1, _MOST_WORDS + 1):
            phrase = " ".join(words[at : at + size])
            found |= _WHOLE.get(phrase) or _WHOLE.get(phrase.removesuffix("s"), set())
        for size in range(_SHORTEST_STEM, min(len(words[at]), _LONGEST_STEM) + 1):
            found |= _STEMS.get(words[at][:size], set())
    return frozenset(found)
