# SPDX-License-Identifier: MIT
"""Inputs for the real programs: a script for each shell or language, a repository, source text."""

import os
import random
import subprocess

BASH = r"""
set -u
declare -A count
words=()
while read -r line; do
    for word in $line; do
        count[$word]=$(( ${count[$word]:-0} + 1 ))
        words+=("${word^^}")
    done
done < words.txt
echo "${#count[@]} different of ${#words[@]}"
for word in "${!count[@]}"; do printf '%s %d\n' "$word" "${count[$word]}"; done | sort | head -20
fib() { (( $1 < 2 )) && echo "$1" || echo $(( $(fib $(($1 - 1))) + $(fib $(($1 - 2))) )); }
echo "fib $(fib 9)"
text=$(cat words.txt)
echo "${#text} ${text:10:20} ${text//e/E}" | cksum
for i in {1..300}; do s="${s-}${i}x"; [[ $s =~ ([0-9]+)x$ ]] && last=${BASH_REMATCH[1]}; done
echo "$last ${#s}"
cat <<END | tr a-z A-Z
here $last
END
(exit 3); echo "status $?"
trap 'echo leaving' EXIT
exit 4
"""

PERL = r"""
use strict; use warnings;
my (%count, @lines);
open my $in, '<', 'words.txt' or die;
while (<$in>) { chomp; push @lines, [split / /]; $count{$_}++ for @{$lines[-1]}; }
printf "%d lines, %d words\n", scalar @lines, scalar keys %count;
printf "%s %d\n", $_, $count{$_} for (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0..20];
my $text = join ' ', map { join ',', reverse @$_ } @lines;
my $n = () = $text =~ /\b(\w+)ing\b/g;
(my $copy = $text) =~ s/([aeiou])/uc $1/ge;
print length($copy), " $n ", unpack('%32C*', $copy), "\n";
my %tree; for my $w (keys %count) { my $t = \%tree; $t = $t->{$_} //= {} for split //, $w; }
sub size { my $t = shift; my $s = 1; $s += size($_) for values %$t; $s } print size(\%tree), "\n";
my @m = map { my $i = $_; [map { $i * $_ } 1..60] } 1..60;
my $sum = 0; for my $r (@m) { $sum += $_ for @$r } print "$sum\n";
print STDERR "to stderr\n"; eval { die { code => 7 } }; exit $@->{code};
"""

SQL = r"""
create table words(id integer primary key, word text, length int);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into words(word, length) select printf('word-%d-%s', i, hex(i * 7919)), i % 97 from n;
create index by_length on words(length, word);
select length, count(*), min(word), max(word) from words group by length order by 2, 1 limit 20;
select count(*) from words a join words b on a.length = b.length and a.id < b.id where a.length < 5;
update words set word = upper(word) where id % 3 = 0;
delete from words where id % 7 = 0;
select sum(length), count(distinct substr(word, 1, 6)), group_concat(length) from
  (select * from words where id < 500 order by word desc);
create virtual table text using fts5(body);
insert into text select word from words limit 2000;
select count(*) from text where text match 'word*';
begin; insert into words select id + 100000, word, length from words; rollback;
select json_group_array(json_object('id', id, 'w', word)) from words where id < 30;
select * from missing;
"""


def words(path):
    dice = random.Random(1)
    vocabulary = [
        "".join(dice.choice("abcdefghijklmnoprstuvw") for _ in range(dice.randint(2, 9)))
        + dice.choice(["", "ing", "ed", "s"])
        for _ in range(400)
    ]
    lines = [" ".join(dice.choices(vocabulary, k=dice.randint(3, 12))) for _ in range(300)]
    path.write_text("\n".join(lines) + "\n")


GIT_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "C",
    "GIT_COMMITTER_EMAIL": "c@example.org",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
}


def repository(folder):
    """A repository of forty commits over a few files that grow and change."""
    env = {**os.environ, **GIT_ENVIRONMENT}

    def git(*arguments):
        subprocess.run(["git", *arguments], cwd=folder, env=env, check=True, capture_output=True)

    dice = random.Random(2)
    folder.mkdir()
    git("init", "-q", "-b", "trunk")
    lines = {f"file{i}.txt": [f"{i} line {j}" for j in range(100)] for i in range(12)}
    for commit in range(40):
        for name in dice.sample(sorted(lines), 4):
            text = lines[name]
            text[dice.randrange(len(text))] = f"changed in {commit}"
            text.insert(dice.randrange(len(text)), f"new in {commit}")
            (folder / name).write_text("\n".join(text) + "\n")
        git("add", "-A")
        git("commit", "-q", "-m", f"commit {commit}")
    (folder / "file1.txt").write_text("an uncommitted change\n")
