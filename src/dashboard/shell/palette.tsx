import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedSearchResult } from '../../http/resources/search.ts';
import { Icon, type IconName, Status } from '../components/icons.tsx';
import { Fault } from '../components/states.tsx';
import { useMay } from '../data/access.ts';
import { request } from '../data/api.ts';
import { isOpen } from '../data/credentials.ts';
import {
  currentEnvironment,
  type Environment,
  inEnvironment,
  linkTo,
  navigate,
  usePlace,
  withParameters,
} from '../data/location.ts';
import { useRead, useResource } from '../data/queries.ts';
import { letters, theme, useStore, zone } from '../data/store.ts';
import { countedState } from '../messages/outcome-words.ts';

/** Resolves typed or pasted text to a resource through the service. */

/** Debounce delay. Shorter: requests while typing. Longer: pasted text takes longer to resolve. */
const PAUSE_MS = 120;
/** Input limit of the search endpoint. */
const CHARACTERS_MAX = 320;

const SCREENS: readonly (readonly [path: string, screen: string])[] = [
  ['/v1/messages/', '/messages/'],
  ['/v1/api-keys/', '/keys/'],
  ['/v1/domains/', '/domains/'],
  ['/v1/templates/', '/templates/'],
  ['/v1/webhooks/', '/webhooks/'],
  ['/v1/inbound/', '/inbound/'],
];

/** Screens of resources that have no page of their own. */
const LISTS: readonly (readonly [path: string, screen: string])[] = [
  ['/v1/messages', '/messages'],
  ['/v1/events', '/events'],
  ['/v1/suppressions', '/suppressions'],
  ['/v1/topics', '/suppressions'],
  ['/v1/members', '/settings'],
  ['/v1/erasures', '/settings'],
  ['/v1/inbound', '/inbound'],
];

/** The list that shows a resource without a page of its own; null: the API path names its screen. */
const inListOf = (type: SerializedSearchResult['type'], id: string | null): string | null => {
  if (type === 'request') return linkTo('/requests', { request: id });
  return type === 'inbound_route' ? linkTo('/inbound', { tab: 'routes', route: id }) : null;
};

/** The screen that shows the resource at an API path. */
export const screenOf = ({ path, type, id, title }: SerializedSearchResult): string => {
  const { pathname, searchParams } = new URL(path, location.origin);
  const listed = inListOf(type, id);
  if (listed !== null) return listed;
  const [prefix, screen] = SCREENS.find(([begin]) => pathname.startsWith(begin)) ?? [];
  if (prefix !== undefined) {
    const [one = '', part, delivery] = pathname.slice(prefix.length).split('/');
    return linkTo(`${screen}${one}`, part === 'deliveries' ? { delivery } : {});
  }
  const list = LISTS.find(([begin]) => pathname.startsWith(begin))?.[1] ?? '';
  const address = type === 'suppression' ? /\S+@\S+$/.exec(title)?.[0] : undefined;
  const period = list === '/messages' ? 'all' : undefined;
  return linkTo(list, { ...Object.fromEntries(searchParams), period, address });
};

export interface Resolution {
  readonly found: readonly SerializedSearchResult[];
  /** Resources of the other environment, where ids are looked up that this one does not have. */
  readonly elsewhere: readonly SerializedSearchResult[];
  /** True until the current text is resolved. */
  readonly isPending: boolean;
  /** Why the text could not be resolved. */
  readonly error: Error | null;
}

/** Ids and Message-IDs. */
const ID = /^<?[a-z]{3}_[a-z2-7]{26}|^req_[0-9a-f]{32}$/;

const otherThan = (environment: Environment): Environment => (environment === 'live' ? 'test' : 'live');

/** Looks an id up in the other environment. */
const useElsewhere = (
  id: string,
  isNeeded: boolean,
): Pick<Resolution, 'isPending'> & { readonly data: readonly SerializedSearchResult[] } => {
  const path = '/v1/search';
  const environment = otherThan(currentEnvironment());
  const enabled = isNeeded && ID.test(id) && isOpen(environment);
  const { data, isPlaceholderData, error } = useRead(
    [path, 'elsewhere', id],
    (signal) => request<List<SerializedSearchResult>>(path, { query: { q: id }, signal, environment }),
    { enabled },
  );
  if (!enabled || error !== null) return { data: [], isPending: false };
  return data === undefined || isPlaceholderData
    ? { data: [], isPending: true }
    : { data: data.data, isPending: false };
};

/** The text once it has not changed for a moment. */
const usePaused = (text: string): string => {
  const [asked, ask] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => ask(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return asked;
};

/** Looks a text up in this environment. */
const useHere = (text: string, asked: string): Omit<Resolution, 'elsewhere'> => {
  const { data, isPlaceholderData, error } = useResource<List<SerializedSearchResult>>({
    path: '/v1/search',
    query: { q: asked },
    enabled: asked !== '',
  });
  const isAnswered = asked === text && (asked === '' || error !== null || (data !== undefined && !isPlaceholderData));
  const found = text === '' || !isAnswered || error !== null ? [] : (data?.data ?? []);
  return { found, isPending: !isAnswered, error: isAnswered && text !== '' ? error : null };
};

/** Resources that match the text, best first. */
export const useResolution = (typed: string): Resolution => {
  const text = typed.trim().slice(0, CHARACTERS_MAX);
  const asked = usePaused(text);
  const here = useHere(text, asked);
  const isMissing = !here.isPending && here.error === null && here.found.length === 0;
  const elsewhere = useElsewhere(asked, isMissing && text !== '');
  return { ...here, elsewhere: isMissing ? elsewhere.data : [], isPending: here.isPending || elsewhere.isPending };
};

/** A screen listed in the sidebar. */
export interface ListedScreen {
  readonly path: string;
  readonly word: string;
  readonly icon: IconName;
}

export interface PaletteProps {
  /** A new object each time the palette opens. */
  readonly opened: { readonly list: 'search' | 'keys' };
  readonly screens: readonly ListedScreen[];
  /** The letter that goes to a screen after G. */
  letterOf(path: string): string | undefined;
  close(): void;
}

interface Choice {
  readonly group: 'Results' | 'Go to' | 'Actions';
  readonly icon: IconName;
  readonly words: string;
  readonly text?: string;
  /** Equivalent shortcuts. */
  readonly keys?: readonly string[];
  /** Distinguishes choices with the same words. */
  readonly id?: string;
  /** The message whose state is shown. */
  readonly message?: SerializedSearchResult['message'];
  choose(): void;
}

const ICONS = {
  message: 'mail',
  messages: 'mail',
  tag: 'mail',
  event: 'pulse',
  request: 'code',
  api_key: 'key',
  domain: 'globe',
  template: 'layout',
  webhook: 'link',
  webhook_delivery: 'link',
  topic: 'forbid',
  inbound_message: 'reply',
  inbound_messages: 'reply',
  inbound_route: 'reply',
  suppression: 'forbid',
  erasure: 'forbid',
  member: 'person',
} as const satisfies Readonly<Record<SerializedSearchResult['type'], IconName>>;

const WORDS: Readonly<Record<SerializedSearchResult['type'], string>> = {
  message: 'Message',
  messages: '',
  tag: '',
  event: 'Event',
  request: 'Refused request:',
  api_key: 'API key',
  domain: 'Domain',
  template: 'Template',
  webhook: 'Webhook',
  webhook_delivery: 'Delivery to',
  topic: 'Topic',
  inbound_message: 'Inbound message',
  inbound_messages: '',
  inbound_route: 'Inbound route',
  suppression: '',
  erasure: 'Erasure',
  member: 'Member',
};

const Pressed = ({ keys }: { readonly keys: readonly string[] }): JSX.Element => (
  <span class="pressed inline">
    {keys.map((key) => (key === 'to' ? <small key={key}>to</small> : <kbd key={key}>{key}</kbd>))}
  </span>
);

const foundChoice = (found: SerializedSearchResult): Choice => ({
  group: 'Results',
  icon: ICONS[found.type],
  words: WORDS[found.type],
  text: found.title,
  id: found.path,
  message: found.message,
  choose: () => navigate(screenOf(found)),
});

/** A resource of the other environment, to which choosing it switches. */
const elsewhereChoice = (found: SerializedSearchResult): Choice => {
  const environment = otherThan(currentEnvironment());
  return {
    ...foundChoice(found),
    words: `In the ${environment} environment: ${WORDS[found.type]}`.trim(),
    choose: () => navigate(inEnvironment(screenOf(found), environment)),
  };
};

const useActions = (): readonly Choice[] => {
  const mayRotate = useMay('POST /v1/api-keys/:id/rotate');
  const isTest = usePlace().query.get('environment') === 'test';
  const [isUtc, isOff] = [useStore(zone) === 'UTC', useStore(letters) === 'off'];
  const act = (icon: IconName, words: string, choose: () => void): Choice => ({
    group: 'Actions',
    icon,
    words,
    choose,
  });
  return [
    ...(mayRotate ? [act('key', 'Create or rotate an API key', () => navigate(linkTo('/keys')))] : []),
    act('clock', isUtc ? 'Show local times' : 'Show times in UTC', () => zone.set(isUtc ? 'local' : 'UTC')),
    act('theme', 'Use the light theme', () => theme.set('light')),
    act('theme', 'Use the dark theme', () => theme.set('dark')),
    act('rotate', isTest ? 'Switch to live' : 'Switch to test', () =>
      navigate(withParameters({ environment: isTest ? null : 'test' })),
    ),
    act('code', isOff ? 'Turn letter shortcuts on' : 'Turn letter shortcuts off', () =>
      letters.set(isOff ? 'on' : 'off'),
    ),
  ];
};

const choiceOf = ({ path, word, icon }: ListedScreen, letter: string | undefined): Choice => ({
  group: 'Go to',
  icon,
  words: word,
  ...(letter !== undefined && { keys: ['G', letter] }),
  choose: () => navigate(linkTo(path)),
});

const useChoices = (typed: string, { screens, letterOf }: Pick<PaletteProps, 'screens' | 'letterOf'>) => {
  const { found, elsewhere, isPending, error } = useResolution(typed);
  const named = [...screens.map((screen) => choiceOf(screen, letterOf(screen.path))), ...useActions()].filter(
    ({ words }) => words.toLowerCase().includes(typed.trim().toLowerCase()),
  );
  return {
    choices: [...found.map(foundChoice), ...elsewhere.map(elsewhereChoice), ...named],
    isPending,
    error,
  };
};

const Search = ({ screens, letterOf, close }: Omit<PaletteProps, 'opened'>): JSX.Element => {
  const [typed, type] = useState('');
  const [at, setAt] = useState(0);
  const { choices, isPending, error } = useChoices(typed, { screens, letterOf });
  // True if Enter was pressed before the service responded.
  const [isWaiting, wait] = useState(false);
  const current = Math.min(at, choices.length - 1);
  const choose = (choice: Choice | undefined): void => {
    close();
    choice?.choose();
  };
  useEffect(() => {
    if (!isWaiting || isPending) return;
    wait(false);
    if (choices.length > 0 && error === null) choose(choices[0]);
  }, [isWaiting, isPending]);
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((current + step + choices.length) % choices.length);
    }
    if (event.key !== 'Enter') return;
    if (isPending) wait(true);
    else if (choices.length > 0) choose(choices[current]);
  };
  return (
    <>
      <div class="q flex line">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label="Search or jump to"
          aria-expanded={choices.length > 0}
          aria-controls="choices"
          {...(choices.length > 0 && { 'aria-activedescendant': `choice-${current}` })}
          placeholder="An id, address, name, SMTP code or screen"
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={(event) => {
            type(event.currentTarget.value);
            setAt(0);
            wait(false);
          }}
          onKeyDown={press}
        />
      </div>
      <div id="choices" role="listbox" aria-label="Choices" class="choices2">
        {choices.map((choice, index) => (
          <div key={`${choice.group} ${choice.words} ${choice.id ?? ''}`} role="presentation">
            {choices[index - 1]?.group !== choice.group && <p role="presentation">{choice.group}</p>}
            <div
              id={`choice-${index}`}
              role="option"
              tabIndex={-1}
              class="choice2 flex"
              aria-selected={index === current}
              onClick={() => choose(choice)}
              onKeyDown={press}
              onPointerMove={() => setAt(index)}
            >
              <Icon name={choice.icon} />
              <span class="ell">
                {choice.words} {choice.text !== undefined && <bdi class="b">{choice.text}</bdi>}
              </span>
              {choice.message && <Status {...countedState(choice.message)} />}
              {choice.keys !== undefined && <Pressed keys={choice.keys} />}
            </div>
          </div>
        ))}
      </div>
      {error !== null && <Fault error={error} />}
      <p role="status" class={choices.length === 0 && !isPending && error === null ? 'none2' : 'vh'}>
        {isPending ? 'Searching' : choices.length === 0 && error === null ? 'No results' : ''}
      </p>
      <div class="ft">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> choose
        </span>
        <span>
          <kbd>↵</kbd> open
        </span>
      </div>
    </>
  );
};

type KeysDo = readonly [does: string, ...keys: readonly string[]];

const KEYS: readonly KeysDo[] = [
  ['Search or jump', '⌘', 'K'],
  ['Move in a list', 'J', 'K'],
  ['Open', '↵'],
  ['Peek', 'Space'],
  ['Select', 'X'],
  ['Filter by cell', 'F'],
  ['Search the list', '/'],
  ['Message views', '1', 'to', '7'],
  ['Time travel', 'T'],
  ['Step through time', '←', '→'],
  ['Back', 'Esc'],
  ['Keyboard shortcuts', '?'],
];

const KeyList = ({ name, all }: { readonly name: string; readonly all: readonly KeysDo[] }): JSX.Element => (
  <section aria-label={name}>
    <h3 class="muted">{name}</h3>
    <dl>
      {all.map(([does, ...keys]) => (
        <div class="flex" key={does}>
          <dt>{does}</dt>
          <dd>
            <Pressed keys={keys} />
          </dd>
        </div>
      ))}
    </dl>
  </section>
);

const Keys = ({ screens, letterOf, close }: Omit<PaletteProps, 'opened'>): JSX.Element => (
  <div class="allkeys">
    <h2>Keyboard</h2>
    <div class="both">
      <KeyList name="Everywhere" all={KEYS} />
      <KeyList name="Go to" all={screens.map(({ path, word }) => [word, 'G', letterOf(path) ?? ''])} />
    </div>
    <div class="acts">
      <button type="button" class="btn" onClick={close}>
        Close
      </button>
    </div>
  </div>
);

/** Resolves pasted text and lists screens, resources and actions; or lists all shortcuts. */
export const Palette = ({ opened, ...props }: PaletteProps): JSX.Element => {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (dialog.current?.open === false) dialog.current.showModal();
  }, [opened]);
  // The close event arrives a task after Escape. A key in between may have opened the palette again.
  const close = (): void => {
    if (dialog.current?.open !== true) props.close();
  };
  return (
    <dialog
      ref={dialog}
      class="pal"
      aria-label={opened.list === 'search' ? 'Search or jump to' : 'Keys'}
      onClose={close}
    >
      {opened.list === 'search' ? <Search {...props} /> : <Keys {...props} />}
    </dialog>
  );
};
