# bash completion for seep
_seep()
{
	local line at=$COMP_CWORD files=
	[[ ${COMP_WORDS[at]} == '=' ]] && at=$((at + 1))
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files) files=yes ;;
		:folders) compopt -o dirnames ;;
		:command*)
			if declare -F _command_offset >/dev/null; then
				_command_offset "${line#* }"
				return
			fi
			files=yes
			[[ $2 && $2 != */* && ${line#* } == "$COMP_CWORD" ]] &&
				mapfile -t COMPREPLY < <(compgen -c -- "$2")
			;;
		"$2"*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done < <("${1/#\~/$HOME}" completion --answer -- "${COMP_WORDS[@]:0:at}" "$2" 2>/dev/null)
	[[ $files ]] || return
	compopt -o default -o filenames
	[[ ${COMPREPLY[*]} ]] &&
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$2")
}
complete -F _seep seep
