#compdef seep
# zsh completion for seep
_seep()
{
	local line word answers result=1
	local -a found
	answers="$(${(Q)words[1]/#\~/$HOME} completion --answer -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)"
	for line in "${(@f)answers}"; do
		case $line in
		('') ;;
		(:files|:folders)
			[[ $PREFIX == --*=* ]] && compset -P 1 '*='
			_files ${${(M)line:#:folders}:+-/} && result=0
			;;
		(:command*)
			shift ${line#* } words
			(( CURRENT -= ${line#* } ))
			_normal && result=0
			;;
		(*)
			word=${line%%$'\t'*}
			found+=("${word//:/\\:}:${line#*$'\t'}")
			;;
		esac
	done
	(( $#found )) && _describe seep found && result=0
	return result
}
if [[ $funcstack[1] == _seep ]]; then
	_seep "$@"
else
	compdef _seep seep
fi
