# fish completion for seep
function __seep_complete
	set -l typed (commandline -opc)
	set -l word (commandline -ct)
	set -l head (string match -r -- '^--[^=]*=' $word)
	set -l value (string replace -r -- '^--[^=]*=' '' $word)
	for line in (command $typed[1] completion --answer -- $typed $word 2>/dev/null)
		switch $line
			case :files
				string replace -r -- '^' "$head" (__fish_complete_path $value)
			case :folders
				string replace -r -- '^' "$head" (__fish_complete_directories $value)
			case ':command *'
				set -l first (math (string replace -- ':command ' '' $line) + 1)
				complete -C (string join -- ' ' (string escape -- $typed[$first..-1]) $word)
			case '*'
				echo $line
		end
	end
end
complete -c seep -f -a '(__seep_complete)'
