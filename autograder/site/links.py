"""Links between Markdown files that work in the repository and on the site, where pages have other paths."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from pathlib import Path

LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]|]|\[[^\]|]*\])*)\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
IN_HTML = re.compile(r'(?P<name>\b(?:src|srcset))="(?P<target>[^":]+)"')
NO_PROSE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)


def relink(
    text: str,
    source: Path,
    page: str,
    pages: Mapping[Path, str],
    keep: Callable[[Path], str],
    special: Callable[[Path, str], str | None] = lambda path, text: None,
    keep_as_is: Callable[[Path], str] | None = None,
) -> str:
    """Rewrite the links in the text of `source` for the site. External links and code are unchanged.

    page: the path of the resulting file in the site's source. pages: {file in the repository: file in the site's source}. keep: copies a
    picture and returns its path in the site's source. special: returns the whole link for a file that is not a page, or None. keep_as_is:
    does the same as keep for a picture in HTML, which Sphinx does not process; without keep_as_is HTML is unchanged. A link to a repository
    file that is not in the site becomes the file's name.
    """

    def one(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        path = (source.parent / target).resolve()
        if match["image"]:
            return f"![{match['text']}]({relative(keep(path), page)})"
        if path in pages:
            return f"[{match['text']}]({relative(pages[path], page)}{anchor})"
        made = special(path, match["text"])
        if made is not None:
            return made
        name = posixpath.basename(target)
        return match["text"] if name in match["text"] else f"{match['text']} (`{name}`)"

    def in_html(match: re.Match[str]) -> str:
        assert keep_as_is is not None
        return f'{match["name"]}="{relative(keep_as_is((source.parent / match["target"]).resolve()), page)}"'

    parts = NO_PROSE.split(text)
    parts[::2] = [LINK.sub(one, part) for part in parts[::2]]
    if keep_as_is is not None:
        parts[::2] = [IN_HTML.sub(in_html, part) for part in parts[::2]]
    return "".join(parts)


def relative(target: str, page: str) -> str:
    """Return the relative path from a page to another file of the site's source."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")
