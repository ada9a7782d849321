import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useMayRead } from '../data/access.ts';
import { type Query, send } from '../data/api.ts';
import { liveness } from '../data/live.ts';
import { linkTo, navigate, withParameters } from '../data/location.ts';
import type { useList } from '../data/queries.ts';
import { useShortcuts } from '../data/shortcuts.ts';
import { useStore } from '../data/store.ts';
import { CopyButton } from './facts.tsx';
import { Icon } from './icons.tsx';
import { Fault, Skeleton } from './states.tsx';

interface CrumbProps {
  /** Path of the list. */
  readonly path: string;
  readonly word: string;
  readonly id: string;
  /** Links to neighbouring items, shown at the end. */
  readonly children?: ComponentChildren;
}

/** Links an item back to its list. */
export const Crumb = ({ path, word, id, children }: CrumbProps): JSX.Element => (
  <div class="crumb flex">
    <a href={linkTo(path)}>{word}</a>
    <Icon name="right" />
    <code class="ell">{id}</code>
    {children}
  </div>
);

/** Scrolls a bar of tabs sideways to its current tab, which a narrow window can hide. @param tab null: it is gone. */
const revealTab = (tab: HTMLElement | null): void => {
  const bar = tab?.parentElement;
  if (!tab || !bar) return;
  bar.scrollLeft += Math.max(0, tab.getBoundingClientRect().right - bar.getBoundingClientRect().right);
};

interface NumberedTabsProps<Tab extends string> {
  /** Tabs that are shown, in order. */
  readonly tabs: readonly Tab[];
  readonly current: Tab;
  readonly words: Readonly<Record<Tab, string>>;
  readonly counts: Partial<Readonly<Record<Tab, number>>>;
  hrefOf(tab: Tab): string;
  /** The view of the current tab. */
  readonly children: ComponentChildren;
}

/** Tabs with number keys as shortcuts. */
export const NumberedTabs = <Tab extends string>({
  tabs,
  current,
  words,
  counts,
  hrefOf,
  children,
}: NumberedTabsProps<Tab>): JSX.Element => {
  useShortcuts(
    Object.fromEntries(tabs.map((tab, index) => [String(index + 1), () => navigate(hrefOf(tab), 'replace')])),
  );
  return (
    <div>
      <nav class="tabs" aria-label="Views">
        {tabs.map((tab) => (
          <a
            key={tab}
            ref={tab === current ? revealTab : null}
            href={hrefOf(tab)}
            {...(tab === current && { 'aria-current': 'page' })}
          >
            {words[tab]}
            {counts[tab] !== undefined && <span class="c">{counts[tab]}</span>}
          </a>
        ))}
      </nav>
      {children}
    </div>
  );
};

/** The request as a curl command, quoted for a shell. */
const curl = (request: string): string =>
  `curl -H "Authorization: Bearer $OUTBOX_KEY" '${location.origin}${request.replaceAll("'", '%27')}'`;

/** Shows the API requests behind a screen, to run elsewhere. @param requests paths with their queries. */
export const ApiButton = ({ requests }: { readonly requests: readonly string[] }): JSX.Element => {
  const mayRead = useMayRead();
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button type="button" class="btn" onClick={() => dialog.current?.showModal()}>
        <Icon name="code" />
        API
      </button>
      <dialog ref={dialog} class="dlg wide" aria-label="Requests for this screen">
        <h2>Requests for this screen</h2>
        <p class="two">This screen is built from these API requests. Your programs can send the same ones.</p>
        {requests.filter(mayRead).map((request) => (
          <div class="curl cp" key={request}>
            <pre>{curl(request)}</pre>
            <CopyButton text={curl(request)} />
          </div>
        ))}
        <form method="dialog" class="acts">
          <button type="submit" class="btn">
            Close
          </button>
        </form>
      </dialog>
    </>
  );
};

interface FilterChipProps {
  /** Name of the URL parameter. */
  readonly name: string;
  /** Label of the filter. */
  readonly word: string;
  readonly value: string;
  /** Label of the button that removes the filter. */
  readonly removed: string;
}

/** An active filter with a button that removes it from the URL. */
export const FilterChip = ({ name, word, value, removed }: FilterChipProps): JSX.Element => (
  <span class="chip">
    <span>{word}</span>{' '}
    <bdi class="value ell" title={value}>
      {value}
    </bdi>
    <button type="button" aria-label={`Remove ${removed}`} onClick={() => navigate(withParameters({ [name]: null }))}>
      <Icon name="cross" />
    </button>
  </span>
);

/** Shows whether the neighbouring data is live. */
export const LiveMark = (): JSX.Element => {
  const { state } = useStore(liveness);
  return (
    <span class={`livemark status ${state === 'live' ? 'ok' : 'mute'}`}>
      <i />
      {state === 'live' ? 'live' : 'not live'}
    </span>
  );
};

/** Keeps the object URL alive this long. Revoking it before the browser starts to write would cancel the download. */
const KEPT_MS = 60_000;

/** Saves a file through the browser's download mechanism. */
export const saveFile = (name: string, contents: Blob): void => {
  const url = URL.createObjectURL(contents);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
};

interface DownloadProps {
  readonly word: string;
  readonly path: string;
  readonly query?: Query;
  readonly accept: string;
  /** Name of the saved file. */
  readonly name: string;
  readonly tone?: 'primary' | 'small';
}

/** Saves a response of the API as a file, if it may be read. It is fetched by script because a link cannot send an API key. */
export const Download = ({ word, path, query = {}, accept, name, tone }: DownloadProps): JSX.Element | null => {
  const mayRead = useMayRead();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const save = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const response = await send(path, { query, headers: { accept } });
      saveFile(name, await response.blob());
    } catch (refused) {
      setError(refused instanceof Error ? refused : new Error(String(refused)));
    } finally {
      setBusy(false);
    }
  };
  if (!mayRead(path)) return null;
  return (
    <>
      <button type="button" class={`btn ${tone ?? ''}`} disabled={isBusy} onClick={() => void save()}>
        <Icon name="save" />
        {isBusy ? 'Loading' : word}
      </button>
      {error !== null && <Fault error={error} />}
    </>
  );
};

interface ListedProps<Row> {
  readonly label: string;
  readonly list: ReturnType<typeof useList<Row>>;
  /** CSS class of the list in addition to `list`. */
  readonly look: string;
  readonly empty: JSX.Element;
  keyOf(row: Row): string;
  render(row: Row): JSX.Element;
}

/** A short list with an empty state and a button for more rows. */
export const Listed = <Row,>({ label, list, look, empty, keyOf, render }: ListedProps<Row>): JSX.Element => {
  const rows = list.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <>
      {list.error !== null && <Fault error={list.error} retry={() => void list.refetch()} />}
      {list.isPending && list.error === null && <Skeleton />}
      {list.data !== undefined && list.error === null && rows.length === 0 && empty}
      {rows.length > 0 && (
        <ul class={`list ${look} ${list.isPlaceholderData ? 'dim' : ''}`} aria-label={label}>
          {rows.map((row) => (
            <li key={keyOf(row)}>{render(row)}</li>
          ))}
        </ul>
      )}
      {list.hasNextPage && (
        <button type="button" class="btn further" onClick={() => void list.fetchNextPage()}>
          Show more
        </button>
      )}
    </>
  );
};
