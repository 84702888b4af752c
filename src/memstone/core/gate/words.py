"""Words the gate knows. Data only; each list stands for a kind of thing, and a word may be added without a rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def join_alternatives(words: Iterable[str]) -> str:
    """Words as the alternatives of a pattern; ``_`` in word stands for blank or hyphen."""
    return "|".join(sorted(words, key=lambda word: (-len(word), word))).replace("_", "[ -]")


KIN: Final = _word_set(
    """mother mom mum mama mummy mommy father dad daddy papa parents sister brother sibling siblings wife husband spouse
    girlfriend boyfriend fianc\u00e9 fianc\u00e9e fiance fiancee son sons daughter daughters kid kids toddler
    grandmother grandma granny nana gran grandfather grandpa grandad granddad grandparents aunt auntie uncle
    cousin cousins nephew nephews niece nieces in-laws mother-in-law father-in-law sister-in-law brother-in-law
    stepmother stepfather stepson stepdaughter"""
)
"""Relatives: who says "mum" without more means their own."""

PRIVATE_THINGS: Final = _word_set(
    """office desk flat apartment house garage garden allotment shed attic basement balcony kitchen bathroom bedroom
    nursery hallway living_room guest_room spare_room spare_key key keys fridge freezer boiler heating dishwasher
    washing_machine sofa curtains wardrobe mattress roof fence lawn hedge greenhouse car van bike motorbike kayak
    caravan camper boat cat dog puppy kitten rabbit hamster parrot tortoise horse hens vet kid kids baby twins
    boys girls children guys lads gang in-laws grandkids nanny babysitter childminder school_run landlord
    landlady tenant tenants neighbor neighbors neighbour neighbours roommate flatmate plumber electrician builder
    builders contractor cleaner gardener handyman mechanic dentist doctor gp physio therapist surgeon specialist
    accountant lawyer solicitor notary teacher tutor coach hairdresser boss manager colleague colleagues coworker
    coworkers client clients customer supplier vendor recruiter intern investor team standup meeting appointment
    interview deadline invoice contract lease mortgage deposit rent budget insurance policy quote proposal pitch
    presentation slides report draft manuscript novel thesis dissertation chapter newsletter blog cv resume
    cover_letter project case account deal roadmap sprint backlog release launch migration prototype workshop
    conference offsite offer counteroffer promotion raise handover wedding engagement honeymoon party barbecue
    bbq birthday anniversary christening baptism funeral reunion venue caterer photographer florist guests cake
    toast speech trip holiday vacation flight airport hotel airbnb booking reservation itinerary visa move
    renovation refurbishment refund warranty receipt parcel delivery subscription membership tax_return wifi
    wi-fi router password passcode pin alarm locker gate_code door_code prescription medication pill pills
    inhaler dose dosage tablet tablets scan x-ray blood_test jab diet workout gym marathon race choir band
    rehearsal recital tournament match club course exam lesson practice meal_plan training_plan plan schedule
    routine shopping_list guest_list todo_list to-do_list packing_list wishlist wish_list reading_list list menu
    bin bins recycling rubbish laundry plant plants cactus chicken chickens bee bees sourdough"""
)
"""What people call "the" without having said which: their own."""

LEISURE: Final = _word_set(
    """gift gifts present presents restaurant cafe bar pub dinner dinners lunch breakfast brunch supper snack meal
    dessert outfit dress jacket shoe shoes sneakers trainers movie film films series show book books novel
    podcast album playlist song game boardgame hobby hike walk trail route trip getaway holiday vacation
    destination hotel date workout exercise stretch course class gym weekend evening activity activities laptop
    phone camera headphones bike car sofa mattress wine cocktail coffee tea beer nickname costume haircut perfume
    color_for colour_for"""
)
"""What is chosen by taste and circumstances."""

PERSONAL_VERBS: Final = _word_set(
    """cook eat drink order wear watch read play listen do get buy bring give pick choose see visit take go make say
    tell write start focus prioritise prioritize pack name call plant paint learn try book stay spend study
    practise practice train skip sell keep accept apply move ask invite celebrate prepare pair leave drive
    schedule expect reply answer respond work tackle finish talk rent upgrade renew cancel switch stick settle
    confront"""
)
"""What one does after having decided for oneself."""

HUMAN_VERBS: Final = _word_set(
    """pick picked visit visited move moved moving buy bought sell sold quit study studied studying live lived lives
    living like love prefer eat drink want plan planning planned give given bring meet met call say said tell
    told mention mentioned ask asked think feel take leave left stay staying join joined teach teaching learn
    learning play read watch cook bake adopt adopted break lose lost find book booked rent renting share hate
    enjoy recommend recommended suggest suggested promise promised send sent lend lent borrow borrowed owe pay
    paid apply graduate graduated retire retired divorce divorced propose proposed arrive arrived arriving return
    travel travelling fly hike swim paint draw sing host celebrate attend volunteer sign finish finished hurt
    injure recover hope decide decided react spend donate organise organize name allergic vegetarian vegan
    pregnant single married engaged sick upset angry happy nervous dating coming going doing working seeing free
    back out home available okay in_town mean_by get getting go pass win won turn change speak drive write wear
    weigh smoke sleep snore help take_care look_after drop reply answer mind complain complained invite invited
    need forget forgot"""
)
"""What private people are said to do, be or want."""

PRIVATE_NOUNS: Final = _word_set(
    """children child kids kid wife husband partner boyfriend girlfriend ex birthday anniversary boss hobby hobbies
    surname pet pets sister brother mother mom mum father dad parents son daughter cousin aunt uncle friend
    friends flat apartment roommate flatmate colleague wedding surgery allergy allergies gift gifts present
    presents shift shifts neighbour interview baby divorce nickname sofa guestroom advice"""
)
"""What private people have."""

PUBLIC_WORDS: Final = _word_set(
    """war wars battle battles empire emperor empress king queen prince princess dynasty kingdom revolution treaty pope
    president presidents minister chancellor parliament senate congress senator election elections constitution
    amendment independence colony colonies slavery crusades soviet union nazi nazis century centuries era ages
    ice ancient medieval renaissance victorian roman romans greek greeks egyptian egyptians vikings aztecs mayans
    ottoman prehistoric dinosaurs dinosaur mammoths mammoth dodo neanderthals fossils evolution evolve evolved
    invented discovered founded assassinated composed planet planets moon moons sun stars comet asteroid earth
    mars jupiter saturn venus solar galaxy universe bang atom atoms molecule species mammal mammals insects
    bacteria continent ocean oceans glaciers rivers mountains island desert capital population currency inventor
    founder nobel oscar oscars grammy olympics olympic championship league pyramid pyramids canal cathedral
    titanic apollo bible quran torah genesis philosopher scientist scientists physicist novelist composer painter
    author director actor actress painting sculpture symphony opera lyrics humans humanity mankind civilization
    civilisation inflation recession economy bitcoin penicillin telephone telegraph lightbulb wheel steam
    airplane vaccine vaccines virus covid pandemic plague volcano volcanoes earthquake tsunami bomb atomic
    nuclear alphabet religion church photosynthesis gravity relativity quantum thermodynamics democracy
    capitalism communism socialism idiom proverb mythology chicken heart liver lungs brain kidney kidneys
    pancreas spleen sky rainbow tide tides climate ozone sea atmosphere equator pole solstice equinox eclipse pm
    prime tomato government supreme court gdp leap throne reign monarch tudor euro dollar society culture grammar
    months seasons"""
)
"""Subjects of general knowledge."""

FAMOUS: Final = _word_set(
    """einstein newton darwin galileo copernicus kepler tesla edison curie pasteur hawking turing lovelace archimedes
    euclid pythagoras aristotle plato socrates confucius buddha jesus moses muhammad mohammed napoleon caesar
    augustus nero cleopatra alexander hannibal charlemagne columbus magellan gutenberg luther calvin shakespeare
    dante homer virgil ovid cervantes goethe schiller kant hegel marx nietzsche freud jung descartes voltaire
    rousseau spinoza locke hume tolstoy dostoevsky chekhov kafka hemingway orwell austen dickens tolkien rowling
    twain poe wilde joyce woolf mozart beethoven bach handel haydn chopin verdi wagner vivaldi puccini brahms
    schubert tchaikovsky stravinsky michelangelo leonardo raphael donatello rembrandt vermeer picasso monet manet
    dali matisse klimt warhol banksy gandhi mandela churchill hitler stalin lenin mao roosevelt kennedy nixon
    reagan thatcher clinton bush obama biden trump putin merkel macron zelensky lincoln washington jefferson
    hamilton lindbergh armstrong gagarin madonna beyonce beyonc\u00e9 rihanna adele shakira eminem drake bono
    prince elvis beatles metallica nirvana queen abba messi ronaldo pele pel\u00e9 maradona federer nadal
    djokovic serena zeus hera athena apollo poseidon hades odin thor loki achilles odysseus hercules oedipus
    hamlet macbeth othello romeo juliet faust dracula frankenstein sherlock batman superman spiderman gandalf
    frodo voldemort hogwarts pikachu mario sauron yoda vader siri alexa cortana chatgpt claude gemini copilot
    villeneuve nolan spielberg tarantino kubrick hitchcock scorsese god santa jupiter saturn mars venus mercury
    neptune uranus pluto pavlov schrodinger schr\u00f6dinger heisenberg bohr fermi planck faraday maxwell ohm
    volta mendel gauss euler fermat riemann hilbert leibniz laplace fourier fibonacci hammurabi machiavelli
    rasputin attila genghis tutankhamun nefertiti solomon herod herodotus hippocrates galen saladin gogh everest
    vesuvius pompeii atlantis"""
)
"""Names that everybody means the same by."""

PLACES_AND_BRANDS: Final = _word_set(
    """africa america american asia asian europe european antarctica australia australian austria austrian belgium
    brazil brazilian britain british bulgaria canada canadian chile china chinese colombia croatia cuba cyprus
    czech denmark danish dutch egypt england english estonia ethiopia finland finnish france french german
    germany ghana greece greek hungary iceland india indian indonesia iran iraq ireland irish israel italy
    italian jamaica japan japanese jordan kenya korea korean kuwait latin latvia lithuania luxembourg malaysia
    malta mexico mexican monaco mongolia morocco nepal netherlands nigeria norway norwegian pakistan panama peru
    philippines poland polish portugal portuguese qatar romania russia russian scotland scottish serbia singapore
    slovakia slovenia spain spanish sudan sweden swedish swiss switzerland syria taiwan thailand tunisia turkey
    turkish ukraine uruguay usa uk venezuela vietnam wales welsh yemen amsterdam athens bangkok barcelona beijing
    belfast bergen berlin bern bologna boston bristol brussels bucharest budapest cairo cambridge chicago cologne
    copenhagen cork cracow dallas delhi denver dresden dubai dublin edinburgh florence frankfurt geneva genoa
    ghent glasgow hamburg hanoi helsinki istanbul jerusalem kiev krakow kyiv kyoto leeds leipzig lima lisbon
    liverpool ljubljana london lyon madrid malaga manchester manila marseille melbourne miami milan montreal
    moscow mumbai munich nairobi naples nice osaka oslo oxford paris porto prague reykjavik riga rome rotterdam
    salzburg santiago seattle seoul seville shanghai sicily sofia stockholm sydney tallinn tokyo toronto toulouse
    turin tuscany utrecht valencia vancouver venice vienna vilnius warsaw zagreb zurich california texas florida
    hawaii alaska bavaria brittany catalonia crete corsica bali java amazon nile rhine danube sahara alps andes
    himalayas atlantic pacific mediterranean arctic apple google microsoft facebook meta netflix spotify youtube
    twitter tiktok instagram whatsapp telegram slack zoom teams outlook gmail word excel powerpoint photoshop
    figma notion trello jira github gitlab docker kubernetes linux ubuntu debian windows macos android iphone
    ipad ios samsung sony nokia huawei intel nvidia amd openai anthropic ikea lidl aldi tesco walmart costco nike
    adidas toyota honda ford volkswagen volvo audi bmw mercedes porsche ferrari nasa nato unesco fifa uefa nba
    bbc cnn unicode python javascript typescript rust kotlin swift ruby perl haskell scala golang bash sql
    postgres postgresql mysql sqlite mongodb redis kafka react angular vue django flask fastapi spring terraform
    ansible jenkins nginx apache aws azure hadoop spark pandas numpy tensorflow pytorch json yaml xml html css
    http https api kubectl git npm vim emacs latex markdown regex cobol fortran lego nutella coca-cola pepsi
    starbucks mcdonalds airbnb uber"""
)
"""Capitalised words that are no private person."""

CALENDAR: Final = _word_set(
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays january february march april may june july august september october november december christmas
    easter halloween thanksgiving hanukkah ramadan diwali mum mom dad grandma grandpa oma opa auntie"""
)
"""Capitalised words that are neither people nor public."""

TECH: Final = _word_set(
    """python javascript typescript java kotlin rust golang php perl sql postgres postgresql mysql sqlite mongodb redis
    bash zsh linux ubuntu docker dockerfile kubernetes k8s kubectl git github gitlab npm yarn pip venv webpack
    vite react angular vue django flask fastapi nginx terraform ansible css html json yaml xml csv regex regexp
    api graphql http https tcp dns ssl tls cors jwt oauth tuple dict boolean recursion struct enum async await
    compiler traceback stacktrace segfault stderr stdout nullpointerexception typeerror syntaxerror keyerror
    valueerror nan localhost dataframe pandas numpy pytorch tensorflow vlookup latex markdown vim emacs vscode
    cron crontab ip ssh sudo chmod grep awk sed rebase endpoint unittest pytest webhook wordpress subclass
    iterator mutex goroutine malloc stdin one-liner codebase powershell cmake makefile gcc llvm kernel ipv4 ipv6
    utf-8 unicode base64 algorithm algorithms"""
)
"""Computing; "my" in such a question is usually anybody's."""

TECH_WEAK: Final = _word_set(
    """function method class variable array list string integer float loop pointer lambda closure thread threads process
    compile exception undefined null excel spreadsheet formula macro branch commit repo repository merge deploy
    deployment container pod cluster server database table column query index schema rest script component hook
    props div button module package import library framework pipeline outlook gmail iphone android windows macos
    chrome firefox shell error stack queue parameter argument object type types print input output code app file
    files folder test tests row rows key keys value values cell cells sort filter parse install update log logs
    cache memory request header token login url link browser data"""
)
"""Words of computing that mean something else as well; two of them are needed."""

TECH_THINGS: Final = _word_set(
    """code codebase function method class variable array list string loop script program query queries regex table
    database db server container image pod cluster build pipeline branch commit repo repository component hook
    state form page website site css html api endpoint request app dataframe df model dataset loss test tests
    import module package environment venv config file files folder directory path terminal shell prompt computer
    pc laptop mac phone account settings notifications inbox profile password username screen browser keyboard
    printer spreadsheet sheet cell column formula"""
)

COMMON_WORDS: Final = _word_set(
    """viola sienna aurora saga sakura willow clementine celeste basil jasmine rosemary luna flora tor robin jean jan
    jun ray will mark rose hope grace faith joy bill drew chase art grant rich frank jack summer autumn dawn ruby
    pearl amber iris lily violet daisy olive ivy holly hazel heather ginger pepper sandy sunny stormy skip buddy
    max rusty patty pat rob sue gene victor guy earl duke dean miles wade reed cliff glen brook lane page sky
    penny jade crystal april june august always never answer please metric units short long reply replies brief
    user users prefer like likes name names work works home time times about that this with what when where they
    them then from have your"""
)
"""Names that are words too count only where they are written as names."""
