# Reads "add GROUP" and "drop GROUP" until the pipe's writer is gone, then ends what is left.
trap '' HUP INT QUIT TERM PIPE
groups=' '
while read -r what group; do
    case $what in
    add) groups="$groups$group " ;;
    drop)
        case $groups in
        *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;;
        esac
        ;;
    esac
done

# Prints the processes of the sessions that these groups lead, where the system lists them.
jobs_left() {
    for stat in /proc/[0-9]*/stat; do
        read -r line <"$stat" || continue
        # "pid (name) state parent group session …"; the name may contain any character.
        pid=${line%% *}
        set -- ${line##*') '}
        case $groups in
        *" $4 "*) echo "$pid" ;;
        esac
    done
}

end_with() {
    for group in $groups; do
        kill -s "$1" -- "-$group"
    done
    # A process that has ended meanwhile has left its session, so its id is looked up again.
    for pid in $(jobs_left); do
        kill -s "$1" -- "$pid"
    done
}

case $groups in
*[0-9]*)
    end_with TERM
    sleep 1
    end_with KILL
    ;;
esac
