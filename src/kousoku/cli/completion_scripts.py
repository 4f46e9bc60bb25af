"""Completion scripts: the function of each shell that looks words up in a table by their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Places = Mapping[str, list[str]]

_BASH = """
_kousoku() {
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" command="${COMP_WORDS[1]}"
    local found
    if ((COMP_CWORD == 1)) && [[ $current == -* ]]; then
        found="$(_kousoku_words "1 --")"
    elif ((COMP_CWORD == 1)); then
        found="$(_kousoku_words 1)"
    elif [[ $current == -* ]]; then
        found="$(_kousoku_words "$command --")"
        if [[ $command == train || $command == sweep ]]; then
            found+=" $(_kousoku_words "${COMP_WORDS[2]} --") $(_kousoku_words "${COMP_WORDS[3]} --")"
        fi
    elif [[ $previous == --* ]]; then
        found="$(_kousoku_words "$previous")"
    else
        found="$(_kousoku_words "$command $COMP_CWORD")"
    fi
    COMPREPLY=($(compgen -W "$found" -- "$current"))
    case "$command $COMP_CWORD $previous" in
        view\\ 2* | evaluate\\ 2* | export\\ 2* | resume\\ 2* | compare* | *\\ --resume | *\\ --init-from)
            local run
            while IFS= read -r run; do
                printf -v run '%q' "$run"
                [[ $run == "$current"* ]] && COMPREPLY+=("$run")
            done < <(_kousoku_runs)
            ;;
    esac
}
complete -o bashdefault -o default -F _kousoku kousoku
"""

_ZSH = """
_kousoku() {
    local current="${words[CURRENT]}" previous="${words[CURRENT-1]}" command="${words[2]}" found
    integer place=$((CURRENT - 1))
    if ((place == 1)) && [[ $current == -* ]]; then
        found="$(_kousoku_words "1 --")"
    elif ((place == 1)); then
        found="$(_kousoku_words 1)"
    elif [[ $current == -* ]]; then
        found="$(_kousoku_words "$command --")"
        if [[ $command == train || $command == sweep ]]; then
            found+=" $(_kousoku_words "${words[3]} --") $(_kousoku_words "${words[4]} --")"
        fi
    elif [[ $previous == --* ]]; then
        found="$(_kousoku_words "$previous")"
    else
        found="$(_kousoku_words "$command $place")"
    fi
    local -a runs
    case "$command $place $previous" in
        view\\ 2* | evaluate\\ 2* | export\\ 2* | resume\\ 2* | compare* | *\\ --resume | *\\ --init-from)
            runs=("${(@f)$(_kousoku_runs)}")
            ;;
    esac
    compadd -- ${=found} ${runs:#} || _files
}
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
    _kousoku "$@"
else
    compdef _kousoku kousoku
fi
"""

_RUNS = """
_kousoku_runs() {
    find runs -mindepth 2 -maxdepth 2 -name config.json 2>/dev/null | sed 's|/config.json$||' | sort
}
"""

_FISH = """
function __kousoku_complete
    set -l given (commandline -opc)
    set -l current (commandline -ct)
    set -l place (count $given)
    set -l command "$given[2]"
    set -l previous "$given[-1]"
    set -l found
    if test $place -eq 1; and string match -q -- '-*' "$current"
        set found (__kousoku_words "1 --")
    else if test $place -eq 1
        set found (__kousoku_words 1)
    else if string match -q -- '-*' "$current"
        set found (__kousoku_words "$command --")
        if contains -- "$command" train sweep
            set -a found (__kousoku_words "$given[3] --") (__kousoku_words "$given[4] --")
        end
    else if string match -q -- '--*' "$previous"
        set found (__kousoku_words "$previous")
    else
        set found (__kousoku_words "$command $place")
    end
    if contains -- "$command $place" "view 2" "evaluate 2" "export 2" "resume 2"
            or contains -- "$command" compare
            or contains -- "$previous" --resume --init-from
        for file in runs/*/config.json
            set -a found (string replace /config.json '' -- $file)
        end
    end
    if test -n "$found"
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c kousoku -f -a '(__kousoku_complete)'
"""


def _table(places: Places) -> str:
    """Returns the table as a function of Bash, which is also one of Zsh."""
    rows = [f"""        "{place}") printf '%s\\n' {" ".join(words)} ;;""" for place, words in places.items()]
    return "\n".join(["_kousoku_words() {", '    case "$1" in', *rows, "    esac", "}"])


def _bash(places: Places) -> str:
    return f"# Completion of kousoku for Bash.\n{_table(places)}\n{_RUNS}{_BASH}"


def _zsh(places: Places) -> str:
    return f"#compdef kousoku\n# Completion of kousoku for Zsh.\n{_table(places)}\n{_RUNS}{_ZSH}"


def _fish(places: Places) -> str:
    rows = [
        f"""        case "{place}"\n            printf '%s\\n' {" ".join(words)}""" for place, words in places.items()
    ]
    table = "\n".join(["function __kousoku_words", '    switch "$argv[1]"', *rows, "    end", "end"])
    return f"# Completion of kousoku for fish.\n{table}\n{_FISH}"


SCRIPTS: dict[str, Callable[[Places], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""{shell: what makes its script of the words by place}."""
