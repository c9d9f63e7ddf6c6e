# Answers to "Check what you read" of the tokenizer day, three quarters of a word. How they are judged: tests/test_asides.py.


# %% right_finnish
# RIGHT: long words
my_message = "Hyvää huomenta. Kirjasto avataan kello kahdeksan. Tee, vesi ja keitto ovat kaikille ilmaisia. Kirjoittakaa nimenne luetteloon ennen lähtöänne, ja tervetuloa uudelleen huomenna aamulla."


# %% right_capitals
# RIGHT: English in capitals
my_message = "PLEASE EXPLAIN THE DIFFERENCE BETWEEN THE TWO PLANS, AND SEND THE SIGNED CONTRACT BACK TO OUR BERLIN OFFICE BEFORE WEDNESDAY MORNING."


# %% right_numbers
# RIGHT: a column of numbers
my_message = " ".join(str(1000 + 37 * i) for i in range(30))


# %% right_code
# RIGHT: code
my_message = "for i in range(10): x[i] = x[i-1]*2; y[i] = (x[i]+y[i-1])//3; z.append((x[i], y[i])) if x[i]>y[i] else None; w = {k: v for k, v in z}; assert len(w)<=len(z), f'{w}'"


# %% wrong_message_as_it_is
# WRONG: the cell's own English
my_message = "Good morning. The library opens at eight o'clock. Tea, water and soup are free for everyone. Please write your name on the list before you go."


# %% wrong_too_short
# WRONG: German, but four words
my_message = "Donaudampfschifffahrtsgesellschaft und sonst nichts"


# %% wrong_plain_english
# WRONG: a long English sentence
my_message = "She opened the letter, read it twice, and put it back into the drawer without a word, and then she looked for a candle and for the matches."


# %% wrong_one_long_word
# WRONG: many tokens, one word
my_message = "abcdefgh" * 50


# %% wrong_empty
# WRONG: nothing
my_message = " "


# %% wrong_simple_words
# WRONG: the commonest words
my_message = "the of and to in a is that for it as was with be by on not he his but at are this have"


# %% wrong_thai
# WRONG: five words between spaces, as the lesson says
my_message = "สวัสดี ตอนเช้า ห้องสมุด เปิด แปดโมง"
