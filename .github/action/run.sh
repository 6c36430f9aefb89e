#!/usr/bin/env bash
# The steps of action.yml. Inputs come as variables of the environment, so no text of a pull request is run as a command.
set -euo pipefail

venv="$RUNNER_TEMP/dynamo-hooks"
largest=60000 # bytes of a comment; GitHub takes 65536 characters

# `given` and `options` from the inputs that name manifests.
read_inputs() {
    mapfile -t given < <(sed -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e '/^$/d' <<<"$FILES")
    options=(--namespace "$NAMESPACE")
    if [[ -n $KINDS ]]; then options+=(--with "$KINDS"); fi
    if [[ $BUILD != true ]]; then options+=(--no-build); fi
    while IFS= read -r setting; do
        if [[ -n ${setting// /} ]]; then options+=(--set "$setting"); fi
    done <<<"$SETTINGS"
}

# Every download has a hash of requirements/, also the tools that build the project.
install() {
    local locks="$GITHUB_ACTION_PATH/requirements" pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check)
    "$PYTHON" -m venv "$venv"
    "${pip[@]}" --require-hashes --only-binary :all: --requirement "$locks/build.txt" --requirement "$locks/package.txt"
    "${pip[@]}" --no-deps --no-index --no-build-isolation "$GITHUB_ACTION_PATH"
}

validate() {
    local status=0 report="$RUNNER_TEMP/dynamo-hooks-validate.txt" pattern
    read_inputs
    while IFS= read -r pattern; do
        if [[ -n ${pattern// /} ]]; then options+=(--exclude "$pattern"); fi
    done <<<"${EXCLUDE:-}"
    if [[ ${STRICT:-} == true ]]; then options+=(--strict); fi
    "$venv/bin/dynamo-hooks" validate --output github "${options[@]}" -- "${given[@]}" 2>"$report" || status=$?
    tail -n 1 "$report"
    {
        printf '### Dynamo manifests\n\n'
        sed 's/^/    /' "$report" # an indented block, which no text can end
        printf '\n'
    } >>"$GITHUB_STEP_SUMMARY"
    return "$status"
}

diff() {
    local status=0 markdown="$RUNNER_TEMP/dynamo-hooks-diff.md" changed=false base
    read_inputs
    if [[ ! $BASE =~ [^0] ]]; then # none, or the zeros of a new branch
        echo "There is no base to compare with."
        return 0
    fi
    if ! base=$(git rev-parse --verify --quiet --end-of-options "$BASE^{commit}"); then
        git fetch --quiet --no-tags --depth=1 --end-of-options origin "$BASE"
        base=$(git rev-parse FETCH_HEAD)
    fi
    "$venv/bin/dynamo-hooks" diff --exit-code --from-git "$base" --output markdown "${options[@]}" -- "${given[@]}" \
        >"$markdown" || status=$?
    if ((status > 1)); then return "$status"; fi
    if ((status == 1)); then changed=true; fi
    { printf '### What it changes\n\n'; cat "$markdown"; } >>"$GITHUB_STEP_SUMMARY"
    printf 'changed=%s\nmarkdown=%s\n' "$changed" "$markdown" >>"$GITHUB_OUTPUT"
    head -n 1 "$markdown"
}

# Prints the id of the last run's comment, or nothing: it begins with the mark, and was written with the same account.
# Anybody may write the mark, and the token may change everybody's comments. Only GraphQL says what an account wrote
# for tokens of people and of apps alike; the job's token is an app's.
find_own_comment() {
    local mark="$1" query found
    # shellcheck disable=SC2016 # variables of GraphQL
    query='query($owner: String!, $name: String!, $number: Int!, $endCursor: String) {
        repository(owner: $owner, name: $name) { pullRequest(number: $number) {
            comments(first: 100, after: $endCursor) {
                nodes { id body viewerDidAuthor }
                pageInfo { hasNextPage endCursor }
    } } } }'
    found=$(gh api graphql --paginate --raw-field "query=$query" --raw-field "owner=${GITHUB_REPOSITORY%/*}" \
        --raw-field "name=${GITHUB_REPOSITORY#*/}" --field "number=$PULL_REQUEST" --jq \
        ".data.repository.pullRequest.comments.nodes[] | select(.viewerDidAuthor and (.body | startswith(\"$mark\"))) | .id") ||
        return
    printf '%s' "${found%%$'\n'*}"
}

# Writes into the comment of the last run, or a new one.
comment() {
    local mark="<!-- dynamo-hooks -->" body="$RUNNER_TEMP/dynamo-hooks-comment.md" id update
    printf '%s\n' "$mark" >"$body"
    if (($(wc -c <"$MARKDOWN") <= largest)); then
        cat "$MARKDOWN" >>"$body"
    else # without the folded part at the end, and no more lines than there is room for
        sed '/^<details>/,$d' "$MARKDOWN" |
            LC_ALL=C awk -v room="$largest" '(room -= length($0) + 1) > 0' >>"$body"
        printf '\nThe rest is in the summary of the job.\n' >>"$body"
    fi
    id=$(find_own_comment "$mark")
    if [[ -n $id ]]; then
        # shellcheck disable=SC2016 # variables of GraphQL
        update='mutation($id: ID!, $body: String!) { updateIssueComment(input: {id: $id, body: $body}) { clientMutationId } }'
        gh api graphql --silent --raw-field "query=$update" --raw-field "id=$id" --field "body=@$body"
    else
        gh api --silent --method POST "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments" --field "body=@$body"
    fi
}

"$1"
