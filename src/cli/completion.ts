import { type Command, optionsIn as optionsOfUsage, type PlainCommand } from './command.ts';
import { descriptionOf } from './options.ts';
import { UsageError } from './terminal.ts';

/**
 * Shell completion, generated from the command table: command words, their options, and the values of options that have
 * only a few. The script is static and needs no running service.
 */

interface Choice {
  /** Preceding words of the command. */
  readonly after: string;
  readonly word: string;
  readonly summary: string;
}

const GLOBAL = '--json';

const choicesOf = ({ name, summary }: Command): readonly Choice[] => {
  const words = name.split(' ');
  return words.map((word, at) => ({
    after: words.slice(0, at).join(' '),
    word,
    summary: at === words.length - 1 ? summary : `${word} …`,
  }));
};

/** Every word of each command with the words before it, without duplicates. */
const wordsOf = (commands: readonly Command[]): readonly Choice[] => [
  ...new Map(commands.flatMap(choicesOf).map((choice) => [`${choice.after}\0${choice.word}`, choice])).values(),
];

interface OptionChoice {
  readonly command: string;
  readonly option: string;
  /** Possible values, such as `live test`; empty: free text or a file. */
  readonly values: readonly string[];
  readonly takesValue: boolean;
}

const LITERALS = /^[a-z]+(?:\|[a-z]+)+$/;

const optionsIn = (command: Command): readonly OptionChoice[] => {
  const usage = `${command.usage} ${command.needs === 'service' ? '[--profile NAME]' : ''} [${GLOBAL}]`;
  return Object.entries(optionsOfUsage(usage)).map(([name, { type }]) => {
    const [, value = ''] = new RegExp(`--${name} ([^\\s\\]]+)`).exec(usage) ?? [];
    return {
      command: command.name,
      option: `--${name}`,
      values: LITERALS.test(value) ? value.split('|') : [],
      takesValue: type === 'string',
    };
  });
};

/** Options of all commands with the same name, merged. */
const optionsOf = (commands: readonly Command[]): readonly OptionChoice[] => [
  ...new Map(commands.flatMap(optionsIn).map((choice) => [`${choice.command}\0${choice.option}`, choice])).values(),
];

/** Quotes text for a POSIX shell or fish. */
const quoted = (text: string): string => `'${text.replaceAll('\\', '').replaceAll("'", '’')}'`;

/** `Map.groupBy`, which Node 20 lacks. */
const grouped = <T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> => {
  const groups = new Map<string, readonly T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
};

/** Shell `case` branches that list the possible words after the preceding ones. */
const cases = (commands: readonly Command[]): string => {
  const words = [...grouped(wordsOf(commands), ({ after }) => after)].map(
    ([after, choices]) => `    ${quoted(after)}) words=${quoted(choices.map(({ word }) => word).join(' '))} ;;`,
  );
  return words.join('\n');
};

const optionCases = (commands: readonly Command[]): string =>
  [...grouped(optionsOf(commands), ({ command }) => command)]
    .map(
      ([command, options]) =>
        `    ${quoted(command)}) options=${quoted(options.map(({ option }) => option).join(' '))} ;;`,
    )
    .join('\n');

const valueCases = (commands: readonly Command[]): string =>
  optionsOf(commands)
    .filter(({ values }) => values.length > 0)
    .map(
      ({ command, option, values }) => `    ${quoted(`${command} ${option}`)}) values=${quoted(values.join(' '))} ;;`,
    )
    .join('\n');

const namesOf = (commands: readonly Command[]): string =>
  [...new Set(commands.map(({ name }) => name))].map(quoted).join(' | ');

/** The part shared by bash and zsh: it finds the command and lists what can follow. */
const shared = (commands: readonly Command[]): string => `_outbox_words() {
  local words=''
  case "$1" in
${cases(commands)}
  esac
  printf '%s' "$words"
}

_outbox_options() {
  local options=''
  case "$1" in
${optionCases(commands)}
  esac
  printf '%s' "$options"
}

_outbox_values() {
  local values=''
  case "$1" in
${valueCases(commands)}
  esac
  printf '%s' "$values"
}

_outbox_is_command() {
  case "$1" in
    ${namesOf(commands)}) return 0 ;;
  esac
  return 1
}

# Words for the current one, for the words of the command line before it.
_outbox_complete() {
  local current="$1" before='' command='' word='' last=''
  shift
  for word in "$@"; do
    case "$word" in
      -*) ;;
      *)
        if [ -n "$(_outbox_words "$before")" ]; then
          before="\${before:+$before }$word"
          if _outbox_is_command "$before"; then command="$before"; fi
        fi
        ;;
    esac
    last="$word"
  done
  case "$last" in
    --*)
      word="$(_outbox_values "$command $last")"
      if [ -n "$word" ]; then printf '%s' "$word"; return; fi
      ;;
  esac
  case "$current" in
    -*) _outbox_options "$command" ;;
    *) _outbox_words "$before" ;;
  esac
}
`;

const bash = (
  commands: readonly Command[],
): string => `# Completion of outbox for bash: source <(outbox completion bash)
${shared(commands)}
_outbox() {
  local current="\${COMP_WORDS[COMP_CWORD]}"
  local found
  found="$(_outbox_complete "$current" "\${COMP_WORDS[@]:1:COMP_CWORD-1}")"
  COMPREPLY=($(compgen -W "$found" -- "$current"))
}
complete -o default -F _outbox outbox
`;

const zsh = (commands: readonly Command[]): string => `#compdef outbox
# Completion of outbox for zsh: a file _outbox in a folder of $fpath, or source <(outbox completion zsh)
${shared(commands)}
_outbox() {
  local current="\${words[CURRENT]}"
  local -a found
  found=(\${=$(_outbox_complete "$current" "\${(@)words[2,CURRENT-1]}")})
  if (( \${#found} )); then compadd -a found; else _files; fi
}
if [ "$funcstack[1]" = '_outbox' ]; then _outbox "$@"; else compdef _outbox outbox; fi
`;

/** Fish condition that is true if the words appear in this order, with any options between them. */
const fishCondition = (words: string): string =>
  words === '' ? 'test (count (__outbox_words)) -eq 0' : `test (string join " " (__outbox_words)) = "${words}"`;

const fish = (commands: readonly Command[]): string => {
  const lines = [
    '# Completion of outbox for fish: outbox completion fish > ~/.config/fish/completions/outbox.fish',
    'function __outbox_words',
    '  set -l tokens (commandline -opc)',
    '  for token in $tokens[2..-1]',
    "    string match -q -- '-*' $token; or echo $token",
    '  end',
    'end',
    'complete -c outbox -f',
    ...wordsOf(commands).map(
      ({ after, word, summary }) =>
        `complete -c outbox -n ${quoted(fishCondition(after))} -a ${quoted(word)} -d ${quoted(summary)}`,
    ),
    ...optionsOf(commands).map(({ command, option, values, takesValue }) => {
      const argument = values.length > 0 ? ` -x -a ${quoted(values.join(' '))}` : takesValue ? ' -r -F' : '';
      const condition = `string match -q -- "${command}*" (string join " " (__outbox_words))`;
      const description = quoted(descriptionOf(command, option.slice(2)));
      return `complete -c outbox -n ${quoted(condition)} -l ${option.slice(2)}${argument} -d ${description}`;
    }),
  ];
  return `${lines.join('\n')}\n`;
};

const SHELLS: Readonly<Record<string, (commands: readonly Command[]) => string>> = { bash, zsh, fish };

/** @param commands all commands, including this one. */
export const createCompletionCommand = (commands: () => readonly Command[]): PlainCommand => ({
  name: 'completion',
  usage: 'bash|zsh|fish',
  summary: 'prints a shell completion script',
  needs: 'nothing',
  run: ({ positionals: [shell = '', ...more] }) => {
    const write = Object.hasOwn(SHELLS, shell) && more.length === 0 ? SHELLS[shell] : undefined;
    if (write === undefined) throw new UsageError(`expected one of ${Object.keys(SHELLS).join(', ')}`);
    return { shell, script: write(commands()) };
  },
  textOf: (result) => ('script' in result ? String(result.script) : ''),
});
