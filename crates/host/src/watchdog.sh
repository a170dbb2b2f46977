# Reads "add GROUP BORN" and "drop GROUP" until the pipe's writer is gone, then ends what is left. BORN
# is the start time of the group's leader, or "-" where the system does not tell it.
trap '' HUP INT QUIT TERM PIPE
groups=' '
while read -r what group born; do
    case $what in
    add) groups="$groups$group:$born " ;;
    drop)
        case $groups in
        *" $group:"*)
            rest=${groups#*" $group:"}
            groups="${groups%%" $group:"*} ${rest#* }"
            ;;
        esac
        ;;
    esac
done

# Leaves out the groups that are gone and whose id another process has got: while a group has members,
# only its own leader has its id.
keep_ours() {
    ours=' '
    for group in $groups; do
        stat=
        # The name of a process may contain line feeds.
        while read -r line; do
            stat="$stat $line"
        done <"/proc/${group%:*}/stat"
        if [ -n "$stat" ] && [ "${group#*:}" != - ]; then
            # "pid (name) state parent ...": the start time is the 22nd.
            # shellcheck disable=SC2086 # Words are wanted.
            set -- ${stat##*) }
            [ "${20}" = "${group#*:}" ] || continue
        fi
        ours="$ours$group "
    done
    groups=$ours
}

# Prints the names of the processes of these groups and of the sessions they lead, zombies excluded,
# where the system lists them as "pid (name) state parent group session ...".
left() {
    any=
    for group in $groups; do
        any="$any|${group%:*}"
    done
    # One program reads them all: a shell reads byte by byte.
    grep -lE "[)] [^Z] [0-9]+ ([0-9]+ )?(${any#|}) " /proc/[0-9]*/stat
}

end_with() {
    keep_ours
    for group in $groups; do
        kill -s "$1" -- "-${group%:*}"
    done
    # A process that has ended meanwhile has left its session, so its id is looked up again.
    for stat in $(left); do
        stat=${stat%/stat}
        kill -s "$1" -- "${stat#/proc/}"
    done
}

# Waits for these times, one after the other; when no process is left, ends this script.
wait_for() {
    for pause in "$@"; do
        sleep "$pause"
        if [ -r /proc/1/stat ]; then
            keep_ours
            [ -n "$(left)" ] || exit 0
        else
            for group in $groups; do
                kill -s 0 -- "-${group%:*}" && continue 2
            done
            exit 0
        fi
    done
}

case $groups in
*[0-9]*)
    # Their input has ended as well: most end by themselves, with their work saved.
    wait_for 0.05 0.1 0.15
    end_with TERM
    wait_for 0.05 0.1 0.15 0.3 0.4
    end_with KILL
    ;;
esac
