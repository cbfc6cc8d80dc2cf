# SPDX-License-Identifier: MIT
"""Completion in the shells themselves: what they offer is what help lists, and nothing typed runs."""

import os
import re
import subprocess
import sys

import pytest

from harness import LIMIT_S, RUNTIME, SEEP, need, run_plain
from help_text import Help, commands, one_line
from screens import Screen

NAMES = list(commands())
BEGIN_WITH_B = {word for word in Help("report").options() if word.startswith("--b")}
SHELLS = ["bash", "zsh", "fish"]

BASH = r"""
compopt() { printf '%s\t\n' "compopt $*"; }
eval "$("$1" completion)"
COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2)) COMPREPLY=()
word=${*: -1}
[[ $word == = ]] && word=
_seep "$1" "$word" "${*: -2:1}"
(( ${#COMPREPLY[@]} )) && printf '%s\t\n' "${COMPREPLY[@]}"
exit 0
"""

# Each match and its line of the list, where the shell itself gets them.
ZSH = r"""
autoload -Uz compinit && compinit -u -D
eval "$("$SEEP" completion zsh)"
compadd() {
	local -a matches shown
	local name=$@[$@[(i)-d]+1]
	(( $@[(I)-[ADO]] )) && { builtin compadd "$@"; return; }
	[[ $name ]] && shown=("${(@P)name}")
	builtin compadd -A matches "$@"
	for ((i = 1; i <= $#matches; i++)); do
		print -r -- "$matches[i]"$'\t'"$shown[i]" >>"$ANSWERS"
	done
	builtin compadd "$@"
}
answer() {
	zle complete-word
	print -r -- end >>"$ANSWERS"
	exit
}
zle -N answer
bindkey '^T' answer
zstyle ':completion:*' completer _complete
zstyle ':completion:*' list-grouped false
setopt no_auto_list
PS1=READY
"""


def ask_bash(words, _folder, env):
    """As readline splits them: "=" is a word."""
    split = [part for word in words for part in re.findall(r"=|[^=]+|^$", word)]
    if words[-1].endswith("="):
        split.append("")
        split[-2:] = ["="]
    done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", SEEP, *split], env=env,
                          capture_output=True, text=True, check=True, timeout=60)
    return dict(line.split("\t") for line in done.stdout.splitlines())


def ask_fish(words, _folder, env):
    line = " ".join([f"'{SEEP}'", *words[1:]])
    done = subprocess.run([need("fish"), "--no-config", "-c",
                           'eval "$argv[1]"; complete -C "$argv[2]"',
                           subprocess.check_output([SEEP, "completion", "fish"], text=True), line],
                          env=env, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return dict((line + "\t").split("\t")[:2] for line in done.stdout.splitlines())


def ask_zsh(words, folder, env):
    answers = folder / "answers"
    answers.write_text("")
    (folder / ".zshrc").write_text(ZSH)
    screen = Screen(folder, 400, 50, [need("zsh"), "-d", "-i"],
                    {**env, "ZDOTDIR": str(folder), "ANSWERS": str(answers), "SEEP": str(SEEP),
                     "TERM": "screen"})
    screen.wait("READY")
    screen.keys("-l", "--", " ".join([str(SEEP), *words[1:]]))
    screen.keys("C-t")
    screen.status()
    screen.close()
    *lines, end = answers.read_text().splitlines()
    assert end == "end"
    return dict(line.split("\t") for line in lines)


def ask(shell, line, folder, env=None):
    """{what is offered: the summary beside it, in bash ""}; the line's last word is being typed."""
    how = {"bash": ask_bash, "zsh": ask_zsh, "fish": ask_fish}[shell]
    return how(line.split(" "), folder, {**os.environ, "LC_ALL": "C.UTF-8", **(env or {})})


def ask_for_files(shell, line, folder):
    """The same without the processes that somebody records on this machine meanwhile."""
    def running():
        done = run_plain([SEEP, "completion", "--answer", "--", "seep", "mark", ""])
        return {row.split("\t")[0] for row in done.stdout.decode().splitlines()}

    before = running()
    offered = ask(shell, line, folder)
    others = before | running()
    return {word: summary for word, summary in offered.items() if word not in others}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", NAMES)
def test_the_options_of_help_are_offered_and_no_others(shell, name, tmp_path):
    listed = Help(name).options()
    offered = ask(shell, f"seep {name} -", tmp_path)
    assert set(offered) == set(listed)
    for word, summary in offered.items():
        if shell != "bash":
            assert one_line(summary.split(" -- ", 1)[-1]) == listed[word]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_commands_of_help_are_offered_and_no_others(shell, tmp_path):
    assert set(ask(shell, "seep ", tmp_path)) == {*NAMES, "help"}
    assert set(ask(shell, "seep help ", tmp_path)) == set(NAMES)
    assert set(ask(shell, "seep --", tmp_path)) == {"--help", "--version"}


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_typed_decides(shell, tmp_path):
    def offered(line):
        return {word.removeprefix("--by=") for word in ask(shell, line, tmp_path)}

    assert offered("seep report --by ") == {"live", "peak", "allocs", "temporary", "lost", "growth"}
    assert offered("seep report --by=") == offered("seep report --by ")
    assert offered("seep report --by p") == offered("seep report --by=p") == {"peak"}
    assert offered("seep report -b p") == offered("seep report -tb p") == {"peak"}
    assert offered("seep report --by live --b") == BEGIN_WITH_B
    assert offered("seep report --by=live --b") == BEGIN_WITH_B
    assert offered("seep report --no-such --b") == BEGIN_WITH_B
    assert {"--json", "--reap", "--help"} <= offered("seep ps --")
    assert offered("seep completion ") == {"bash", "zsh", "fish"}
    assert offered("seep completion zsh ") == set()
    assert offered("seep mark 1 ") == offered("seep query file.seep ") == set()
    assert offered("seep nothing ") == offered("seep nothing -") == set()
    assert offered("seep report --top ") == set()
    assert "--json=strings" in ask(shell, "seep ps --json=", tmp_path) or shell == "bash"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_files_are_offered_where_a_file_is_meant(shell, tmp_path, monkeypatch):
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.seep").touch()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SEEP_DIR", str(tmp_path))  # else what is recorded meanwhile is offered as well
    everything = {"a.seep", "sub"}

    def offered(line):
        words = ask_for_files(shell, line, tmp_path)
        return {re.sub("^--[a-z]+=", "", word).rstrip("/") for word in words}

    for line in ["seep report ", "seep diff a.seep ", "seep run -o ", "seep run --output=",
                 "seep report --json=", "seep report -- "]:
        assert offered(line) == everything, line
    assert offered("seep report --symbols ") == offered("seep report --symbols=") == {"sub"}
    assert offered("seep report --symbols x --top 3 a") == {"a.seep"}


def test_bash_completes_files_by_itself(tmp_path, monkeypatch):
    """Since only it can quote them; what it is told to do is all there is."""
    monkeypatch.chdir(tmp_path)
    default, folders = {"compopt -o default -o filenames": ""}, {"compopt -o dirnames": ""}
    for line in ["seep report ", "seep diff A ", "seep run -o ", "seep run --output=",
                 "seep run --output=a", "seep report -- -"]:
        assert ask_for_files("bash", line, tmp_path) == default, line
    assert ask_for_files("bash", "seep report --symbols ", tmp_path) == folders


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_program_that_is_run_completes_as_without_seep(shell, tmp_path):
    for line in [f"seep run -q {SEEP} report --b", f"seep run -q --top {SEEP} report --b"]:
        assert set(ask(shell, line, tmp_path)) == BEGIN_WITH_B, line


def test_running_processes_are_offered_but_no_name_that_a_shell_would_read(seep, tmp_path):
    env = seep.environment({"LD_PRELOAD": str(RUNTIME)})
    wait = "import sys; print('ready', flush=True); sys.stdin.read()"
    hostile = tmp_path / "$(touch pwned);`touch pwned` \t\x1b[31m"
    hostile.write_bytes(open(os.path.realpath(sys.executable), "rb").read())
    hostile.chmod(0o755)
    running = [subprocess.Popen([path, "-c", wait], env={**os.environ, **env},
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
               for path in (sys.executable, hostile)]
    for process in running:
        assert process.stdout.readline() == b"ready\n"
    pids = {str(process.pid) for process in running}
    name = os.path.basename(os.path.realpath(sys.executable))
    del env["LD_PRELOAD"]
    for shell in SHELLS:
        offered = ask(shell, "seep mark ", tmp_path, env)
        assert pids | {name} <= set(offered)
        assert pids <= set(ask(shell, "seep diff a.seep ", tmp_path, env))
        assert not any("pwned" in word or "\x1b" in word + summary
                       for word, summary in offered.items())
    for process in running:
        process.communicate(timeout=LIMIT_S)
    assert not list(tmp_path.rglob("pwned"))


HOSTILE = ["$(touch pwned)", "`touch pwned`", "$(touch${IFS}pwned)", "'", '"', "\\", "*", "%s%n",
           "x" * 4000, "--by=$(touch pwned)", "<(touch pwned)", "${x[$(touch pwned)]}", "=", "--="]


@pytest.mark.parametrize("shell", SHELLS)
def test_nothing_that_is_typed_is_run(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = HOSTILE if shell == "bash" else [f"'{word}'" for word in HOSTILE if "'" not in word]
    for word in words:
        for line in ([word, ""], [word, "-"], ["report", word], ["report", "--by", word]):
            how = {"bash": ask_bash, "zsh": ask_zsh, "fish": ask_fish}[shell]
            if shell != "zsh" or word == words[0]:
                how(["seep", *line], tmp_path, {**os.environ, "LC_ALL": "C.UTF-8"})
    assert not list(tmp_path.rglob("pwned"))


def test_answers_to_any_words_are_bounded():
    for words in [[], [""], ["seep"], ["seep", "report", "--"], ["seep", "", ""],
                  ["seep", "run", "\xff", "-"], ["seep", "report", *["-b"] * 10000]]:
        done = run_plain([SEEP, "completion", "--answer", "--", *words])
        assert (done.status, done.stderr) == (0, b"")
        assert len(done.stdout) < 20000


def test_a_tab_in_bash_completes_the_line(tmp_path):
    (tmp_path / "a file.seep").touch()
    (tmp_path / "rc").write_text(f'eval "$({SEEP} completion)"\nPS1="READY "\ncd {tmp_path}\n')
    screen = Screen(tmp_path, 200, 20, ["bash", "--rcfile", tmp_path / "rc", "-i"],
                    {"INPUTRC": "/dev/null", "TERM": "screen", "LC_ALL": "C.UTF-8"})
    screen.wait("READY")
    for keys, line in [(" rep", "report "), ("--tr", "--tree "), ("--by=pe", "--by=peak "),
                       ("-b te", "-b temporary "), ("a", r"a\ file.seep")]:
        screen.keys("-l", "--", f"{SEEP}{keys}" if keys[0] == " " else keys)
        screen.keys("Tab")
        screen.wait(line.rstrip())
        assert line in screen.text("-J").replace("\n", " ")
    screen.close()
