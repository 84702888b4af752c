"""First names of many countries, in small letters: who asks about one of them without more means somebody they know."""

from __future__ import annotations

from typing import Final

FIRST_NAMES: Final = frozenset(
    """aaron abdul abigail abel ada adam adele adrian adriana agata agatha agnes agnieszka ahmed aiden aileen aisha akira
    alan alba albert alberto alejandra alejandro aleksandra alena alessandra alessandro alex alexandra alexei alexis
    alfie alfred ali alice alicia alina alison allison alma alvaro amal amanda amara amelia amina amir amit amy ana
    anastasia anders andrea andreas andrei andrew andy angela angelo angus anika anita anja anke anna annabel anne
    annemarie annette annie annika anouk ansel anthony antoine anton antonia antonio anya archie ari ariana ariel arjun
    arlo arne arthur arturo arun asha ashley astrid aubrey audrey aurora ava axel ayesha aylin aziz barbara barry
    bartek basil bastian beata beatrice beatriz becky belinda ben benedict benjamin benji benny bernard bernd bernice
    beth bethany betty bianca birgit bj\u00f6rn bob bobby bogdan boris brad bradley brandon brenda brendan brian bridget
    britta bruce bruno bryan caitlin caleb callum calvin camila camilla camille carl carla carlo carlos carmen carol
    carolina caroline carrie casey cassandra caterina catherine cathy cecilia cecily cedric celeste celia celine
    cesar charlie charlotte chen chiara chloe chris christian christina christine christoph christopher cindy claire
    clara clarissa claudia clemens clement clementine cleo cody colette colin colleen conor connor constance cora
    corinne cormac cornelia craig cristina curtis cynthia daan dagmar damian damien dan dana daniel daniela daniele
    danielle danny daphne daria dario darius darren dave david deborah debbie declan deepa delia delphine denise dennis
    derek desmond diana diane diego dieter dilan dima dimitri dinah dina dirk dmitri dominic dominik dominique don donald
    donna dora doris dorothy doug douglas duncan dylan eamon ebba eddie edgar edith edmund eduardo edward edwin eileen
    einar elaine eleanor elena eleni eli elias elif elijah elin elio elisa elisabeth eliza elizabeth ella ellen ellie
    elliot elodie eloise elsa elsie elvira emil emilia emilie emilio emily emma emmanuel emre enrico enrique enzo eric
    erica erik erika erin ernest ernesto esme esmeralda esteban estelle esther ethan etienne eugene eva evan evelyn ewa
    ezra fabian fabio farah farid fatima fatou federica federico felicity felipe felix femke fergus fernanda fernando
    finn fiona flavia fleur flora florence florian floyd francesca francesco francis francisco franco francois
    frank\u00e9 franz freddie frederik frederick freya frida frieda fritz gabriel gabriela gabriele gareth gary gavin
    gemma genevieve geoff george georgia georgina gerald gerard gerda gertrude giacomo gianni gilbert gillian gina
    giorgio giovanna giovanni gisela giulia giulio giuseppe gloria gordon graham greg gregor greta gretchen guillaume
    gunnar gustav gustavo gwen gwendolyn hamid hana hanna hannah hannes hans harald harold harriet harry harvey hassan
    hector hedda hedwig heidi heinrich heinz helen helena helene helga henk henning henri henrietta henrik henry herbert
    hilary hilda hiroshi holger hugo huda hussein ian ibrahim ida ignacio igor ilaria ilse imani imogen imran ines inga
    inge ingrid ioana ira irena irene irina irma isa isaac isabel isabella isabelle isadora isla ismael ivan ivana ivo
    jaap jacek jackie jacob jacqueline jacques jada jaime jakob jamal james jamie jamila jan jana jane janet janice
    janina janine jared jasmin jasmine jason jasper javier jayden jean jeanette jeff jeffrey jelena jenna jennifer jenny
    jens jeremy jerome jerry jesper jesse jessica jill jim jimmy jing joachim joan joana joanna joanne jochen jodie joe
    joel johan johann johanna johannes john johnny jolanda jon jonah jonas jonathan jordi jorge jorgen josef josefina
    joseph josephine josh joshua josie juan juanita judith judy jules julia julian juliana julie julien julio julius jun
    jutta kai kaitlyn kamal kamila karen karim karin karina karl karla karolina karsten kasia kasper kate katharina
    katherine kathleen kathrin kathryn kathy katia katie katja katrin katrina katya kay kayla keiko keith kelly ken
    kenji kenneth kenny kerry kerstin kevin khadija khalid kieran kim kimberly kirsten kirsty kjell klara klaus knut
    konrad konstantin kristen kristin kristina kristof krzysztof kurt kwame kyle lachlan laila lara larissa larry lars
    laura lauren laurence laurent lea leah leander leandro leila lena lennart lenny leo leon leona leonard leonie
    leonora leontine leopold leroy leslie leticia levi lewis lia liam lidia liesbeth lieselotte lila lilia lilian liliana
    lillian lina linda lindsay linnea linus lionel lisa lise liv livia liz liza logan lois lola lorena lorenzo loretta
    lori lotte lottie lou louis louisa louise lucas lucia luciana luciano lucie lucien lucinda lucy ludo ludovic ludwig
    luigi luis luisa luka lukas luke luna lydia lyle lynn mabel maddie madeleine madison mads magda magdalena magnus
    mahmoud maja malcolm malik malin mandy manfred manon manuel manuela mara marc marcel marcela marcelo marcia marco
    marcos marcus marek margaret margarita margot marguerite maria mariam mariana marianne marie marija marijn marina
    marion marisa marisol marissa marit marius marjorie marlene marlon marta martha martin martina marvin maryam masha
    massimo mathias mathilde matilda matt matteo matthew matthias maud maureen maurice mauro maxim maxime maximilian maya
    mehmet mei mela melanie melinda melissa mercedes meredith merle mia michael michaela michal michel michele michelle
    miguel mika mikael mikhail mila milan milena milo mina mira miranda miriam mirjam mitch mohamed mohammed moira molly
    mona monica monika monique morgan moritz moses muriel murray mustafa myra myriam nadia nadine naima nancy naomi
    natalia natalie natasha nathalie nathan nathaniel ned neha neil nele nell nelly nelson nessa nia niamh nicholas nick
    nicky nico nicola nicolas nicole niels nigel nikita nikki niko nikolai nils nina nino nisha noah noel noelia noemi
    nora norbert norman odette olaf ole oleg olga olivia oliver olivier olya omar orla orlando oscar oskar otis ottilie
    otto owen pablo paco paige pam pamela paola paolo pascal patricia patrick patrik paul paula paulina pauline paulo
    pavel pedro peggy penelope pernille per petar pete peter petra phil philip philippa phoebe pia pierre piet pieter
    pilar piotr pippa polly pooja priya quentin rachel rafael rafal raj rajesh ralf ralph ramon ramona randy rania
    raphaela raquel rashid raul ravi ray raymond rebecca regina reinhard remy renata renate rene renee rhys ricardo
    riccardo richard rick ricky rita robbie robert roberta roberto robin robyn rodrigo roger roland rolf roman ron
    ronald ronja ronnie rory rosa rosalie rosalind rosamund rosanna rosemary rosie ross roxanne roy ruben rudi rudolf
    rudy rupert russell rutger ruth ryan saba sabina sabine sabrina sadie said salim sally salma salvador sam samantha
    samir samira samuel sandra sanjay santiago sara sarah sascha sasha saskia scott sean sebastian selim selina selma
    serge sergei sergio shane shannon sharon shaun sheila shelley sherry shirin shirley sibyl sidney siegfried sienna
    sigrid silas silke silvia simon simona simone sina siobhan sofia solveig sonia sonja sophia sophie soraya spencer
    stan stanislav stefan stefania stefano steffi stella stephan stephanie stephen steve steven stuart sunita susan
    susana susanna susanne susie suzanne sven svetlana svenja sybil sylvia sylvie tabitha tamara tamsin tania tanja
    tanya tara tariq tasha tatiana ted teresa terry tess tessa thea thelma theo theodor theodora theodore theresa
    therese thijs thilo thomas thorsten tia tiago tilda till tillie tim timo timothy tina tobias toby todd tom tomas
    tomasz tommaso tommy toni tony tonya torben tove tracy trevor tristan trudy tuomas ulla ulli ulrich ulrike una ursula
    uta uwe valentin valentina valeria valerie vanessa vanja vera verena verity veronica veronika vicki vicky victoria
    vijay viktor viktoria vincent vincenzo viola virginia vitor vittoria vivian viviana vivienne vlad vladimir walter
    wanda warren wendy werner wilfred wilhelm willem william willow wim winifred winston wojtek wolfgang xander xavier
    ximena yann yannick yara yasmin yasmina yasmine yolanda yuki yuri yusuf yves yvette yvonne zac zachary zahra zainab
    zara zelda zo\u00eb zoe zofia zoltan zora zuzana
    abena abdullah adaeze adesh aditi adnan ahmet akua alfonso amadou amaya ambre ananya aneta anh anil anjali ansel
    anselm apolline arnaud aroha arvid asif asuka ayaan ayo babak bao bea beate bettina bilal birk birte blanca bodil
    branko britt casper cem chiamaka chidi chinedu cillian clemence dagny danilo darja dariusz deirdre dervla dilara dorte
    edda efua eino eira eirik elham elke ellinor emeka emine endre eoin esra eszter etta ewan eyal fanny fariba farida fatma
    fei femi fenna feodora ferran filip filippa folke fumiko gabor galina georg gerhard ghislaine giada gideon gita goran
    graciela grzegorz gudrun hadiya hakan hakon halima hamza haruki hatice hedvig hege hendrik henrike hilde hillevi hong
    ichiro idris ieva iker ilona ilya imke ingeborg ioannis iona isha ishaan istvan itziar ivar jaan jadwiga jarek jaroslav
    jette jitka joao joaquin joke jolie joost jorid jovana jozef juhani jurgen kaisa kalle kamala kamil karoline katarina
    katinka kavita kayode kazuo kerttu kian kirill kofi kristjan kumiko kunal lakshmi lale laszlo latifa lech leena leif
    liesel ligia linh lior liron ljubica lorna lubna ludmila maartje maarten mads maeve magali mahir mahsa maik mairead
    manoj maren mariusz marieke marijke marlies marlies mateo mateus mats mehdi meena meike merete merve milica milos
    minh miro mirko moana mohsen munira nabil nadir naoko narges nasrin natalka nawal neus nia nikhil nils nimue ning nkechi
    noa noor noora noriko nuno nuria obinna odin oisin oleksandr omid oona oriol orhan orsolya osman otto padraig paloma
    parisa parvati paulien per petter petros pinar piper pooja pradeep pranav preeti priyanka radek rafa rahel rahul raimund
    rana rasmus ravit razvan reza riku rohan rosalba rosamunde roza ruta ruud ryo sabri sadia saga sakura samuli sander sanne
    sanna santi seamus selin seo serap shanti sheikh shira shreya sigurd silje silvan sindre sinead siri sofie solene soren
    sorcha stig stijn sunil sunniva svea swati takumi tamas tanvi tariku taavi tendai teo thandi thi thierry thora thuy tjark
    tomek tomoko tor toshi trine tuan tuva uma umar urs vasco vasil veerle vesna vidar vigdis viktoriya vilde vilma virgil
    vishal wale wangari wanjiru wei wiebke wout wouter xin yael yan yaw yeon yetunde ylva yosef youssef yuan yukiko yun
    zbigniew zeynep zhen zoya zsofia zsolt""".split()
)
