import { Fragment, type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AuditCheckpoint, AuditEntry } from '../../http/resources/audit/checkpoints.ts';
import { CopyButton } from '../components/facts.tsx';
import { Icon } from '../components/icons.tsx';
import { ApiButton, Download } from '../components/screen.tsx';
import { Empty, Fault, Skeleton } from '../components/states.tsx';
import { urlOf } from '../data/api.ts';
import { onEvents } from '../data/live.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { useDomainNames, useKeyNames, useMemberNames } from '../data/names.ts';
import { useList } from '../data/queries.ts';
import { useShortcuts } from '../data/shortcuts.ts';
import { count, useTimes } from '../data/time.ts';
import { AccessReview } from './access-review.tsx';
import { LogState, useNewest } from './checks.tsx';
import { EntryDetails, EntryRow, type Names, showsAddresses } from './entry.tsx';
import { type AuditSearch, AuditSearchBar, logQuery, searchOf } from './search.tsx';

/** Explains how to verify an export elsewhere, and offers the file. */
const Export = ({ newest }: { readonly newest: AuditCheckpoint | undefined }): JSX.Element => {
  const dialog = useRef<HTMLDialogElement>(null);
  const command = `npx outbox-audit-verify audit.jsonl --key '${newest?.verifier_key ?? '<verifier key>'}'`;
  return (
    <>
      <button type="button" class="btn primary" onClick={() => dialog.current?.showModal()}>
        <Icon name="save" />
        Export with proofs
      </button>
      <dialog ref={dialog} class="dlg wide" aria-label="Export with proofs">
        <h2>Export with proofs</h2>
        <p class="two">
          {newest === undefined ? 'All entries' : `All ${count(newest.size)} signed entries`} with their hashes and the
          newest signed checkpoint. Anyone can verify the file without this service and without trusting it. The export
          itself is recorded in the log.
        </p>
        <div class="curl cp">
          <pre>{command}</pre>
          <CopyButton text={command} />
        </div>
        <div class="acts">
          <button type="button" class="btn" onClick={() => dialog.current?.close()}>
            Close
          </button>
          <Download
            word="Download"
            path="/v1/audit/export"
            accept="application/jsonl"
            name="audit.jsonl"
            tone="primary"
          />
        </div>
      </dialog>
    </>
  );
};

/** Entries between two visible ones: they are of workers, unless another filter hides more. */
const Folded = ({ number }: { readonly number: number }): JSX.Element => (
  <a class="folded line hoverable" href={withParameters({ workers: 'include' })}>
    <Icon name="rotate" />
    {count(number)} worker {number === 1 ? 'event' : 'events'}
  </a>
);

const isSameView = (one: AuditEntry, other: AuditEntry): boolean =>
  [one, other].every(showsAddresses) && one.actor.type === other.actor.type && one.actor.id === other.actor.id;

interface RunsOptions {
  readonly dayOf: (time: string) => string;
  /** True: views of lists by the same person or key, one after the other, are one run. */
  readonly isFolded: boolean;
  readonly selected: string | undefined;
}

/** Entries that share a row. A run with the selected entry is unfolded. */
const runsOf = (entries: readonly AuditEntry[], { dayOf, isFolded, selected }: RunsOptions) => {
  const runs: AuditEntry[][] = [];
  for (const entry of entries) {
    const run = runs.at(-1);
    const before = run?.at(-1);
    const goesOn =
      before !== undefined && isSameView(before, entry) && dayOf(before.occurred_at) === dayOf(entry.occurred_at);
    if (isFolded && goesOn) run?.push(entry);
    else runs.push([entry]);
  }
  return runs.flatMap((run) => (run.some(({ event_id: id }) => id === selected) ? run.map((entry) => [entry]) : [run]));
};

interface LogProps {
  readonly search: AuditSearch;
  readonly entries: readonly AuditEntry[];
  readonly names: Names;
  readonly selected: string | undefined;
}

const Log = ({ search, entries, names, selected }: LogProps): JSX.Element => {
  const times = useTimes();
  const isFiltered = Object.keys(search.filters).length > 0;
  const runs = runsOf(entries, { dayOf: times.day, isFolded: !isFiltered, selected });
  return (
    <>
      {runs.map((run, index) => {
        const [entry] = run;
        if (entry === undefined) return null;
        const day = times.day(entry.occurred_at);
        const before = runs[index - 1]?.at(-1);
        const isFirst = before === undefined || times.day(before.occurred_at) !== day;
        // Nothing but events of workers is left out.
        const hasGap = !isFiltered && !search.hasWorkers && before !== undefined;
        const folded = hasGap ? before.leaf_index - entry.leaf_index - 1 : 0;
        return (
          <Fragment key={entry.event_id}>
            {folded > 0 && <Folded number={folded} />}
            {isFirst && <div class="day flex line">{day}</div>}
            <EntryRow run={run} entry={entry} names={names} isSelected={entry.event_id === selected} />
          </Fragment>
        );
      })}
    </>
  );
};

/** True if something has happened since the list was loaded. */
const useHasNews = (readAt: number): boolean => {
  const [hasNews, setNews] = useState(false);
  useEffect(() => setNews(false), [readAt]);
  useEffect(() => onEvents(() => setNews(true)), []);
  return hasNews;
};

/** Moves the selection with the keyboard. */
const useSelection = (entries: readonly AuditEntry[], selected: AuditEntry | undefined): void => {
  const step = (by: number): void => {
    const at = selected === undefined ? -1 : entries.indexOf(selected);
    const next = entries[Math.min(entries.length - 1, Math.max(0, at + by))];
    if (next !== undefined) navigate(withParameters({ entry: next.event_id }), 'replace');
  };
  useShortcuts({ j: () => step(1), k: () => step(-1) });
};

/** Pages without an entry that are loaded automatically. Higher: a search that finds nothing takes longer to end. */
const EMPTY_PAGES_MAX = 10;

/** Goes on where a page found nothing: a search looks at some thousand entries at a time. */
const useFurtherPages = (list: ReturnType<typeof useList<AuditEntry>>): boolean => {
  const pages = list.data?.pages ?? [];
  const isEmpty = pages.every(({ data }) => data.length === 0);
  const goesOn = isEmpty && list.hasNextPage && pages.length < EMPTY_PAGES_MAX && list.error === null;
  useEffect(() => {
    if (goesOn && !list.isFetching) void list.fetchNextPage();
  }, [goesOn, list.isFetching]);
  return goesOn;
};

const NoEntries = ({ search: { filters, period, hasWorkers } }: { readonly search: AuditSearch }): JSX.Element => (
  <Empty
    icon="shield"
    title="No matching entries"
    actions={
      <>
        {(period !== 'all' || filters.since !== undefined || filters.until !== undefined) && (
          <a class="btn" href={withParameters({ period: 'all', since: null, until: null })}>
            Any time
          </a>
        )}
        {!hasWorkers && (
          <a class="btn" href={withParameters({ workers: 'include' })}>
            Show worker events
          </a>
        )}
        {Object.keys(filters).length > 0 && (
          <a class="btn" href={linkTo('/audit')}>
            Clear filters
          </a>
        )}
      </>
    }
  >
    Search for words of what was done, such as “invited”, “passkey” or “rotated”, for a person or for a key. The log
    records every change to keys, domains and messages, and who read message contents.
  </Empty>
);

const News = ({ list }: { readonly list: ReturnType<typeof useList<AuditEntry>> }): JSX.Element | null =>
  useHasNews(list.dataUpdatedAt) ? (
    <div class="new">
      <button type="button" onClick={() => void list.refetch()}>
        Newer entries
      </button>
    </div>
  ) : null;

interface EntriesProps {
  readonly search: AuditSearch;
  readonly list: ReturnType<typeof useList<AuditEntry>>;
  readonly newest: AuditCheckpoint | undefined;
}

/** The entries, and the selected one next to them. */
const Entries = ({ search, list, newest }: EntriesProps): JSX.Element => {
  const { query } = usePlace();
  const names = new Map([...useKeyNames(), ...useDomainNames(), ...useMemberNames()]);
  const entries = list.data?.pages.flatMap(({ data }) => data) ?? [];
  const selected = entries.find(({ event_id: id }) => id === query.get('entry'));
  useSelection(entries, selected);
  if (entries.length === 0 && !list.hasNextPage) return <NoEntries search={search} />;
  return (
    <div class="log-beside-entry frame">
      <div class={`al ${list.isPlaceholderData ? 'dim' : ''}`}>
        <News list={list} />
        <Log search={search} entries={entries} names={names} selected={selected?.event_id} />
        {list.hasNextPage && (
          <button type="button" class="btn more" disabled={list.isFetching} onClick={() => void list.fetchNextPage()}>
            {list.isFetching ? 'Loading' : 'Show older'}
          </button>
        )}
      </div>
      {selected === undefined ? (
        <div class="entry det none">
          <p class="muted">
            Select an entry to see what was done, from where, and its proof, verified by this browser.
          </p>
        </div>
      ) : (
        <EntryDetails entry={selected} names={names} newest={newest} />
      )}
    </div>
  );
};

/** True if the list has rows, or is known to have none: nothing is said about it beside an error. */
const isKnown = ({ data, error }: ReturnType<typeof useList<AuditEntry>>): boolean =>
  data !== undefined && (error === null || data.pages.some((page) => page.data.length > 0));

/** The audit log with actors and proofs. */
export const Audit = (): JSX.Element => {
  const { query } = usePlace();
  const search = searchOf(query);
  const asked = logQuery(search);
  const list = useList<AuditEntry>({ path: '/v1/audit/log', query: asked });
  const newest = useNewest().data?.data[0];
  const isSearching = useFurtherPages(list);
  return (
    <>
      <div class="head">
        <div>
          <h1>Audit</h1>
          <p class="sub">Every action, who took it, and its proof</p>
        </div>
        <div class="acts">
          <ApiButton requests={[urlOf('/v1/audit/log', asked), '/v1/audit/checkpoints?limit=1', '/v1/audit/export']} />
          <AccessReview />
          <Export newest={newest} />
        </div>
      </div>
      {newest !== undefined && <LogState newest={newest} />}
      <AuditSearchBar search={search} />
      {list.error !== null && <Fault error={list.error} retry={() => void list.refetch()} />}
      {list.isPending && list.error === null && <Skeleton />}
      {isSearching && <Skeleton />}
      {isKnown(list) && !isSearching && <Entries search={search} list={list} newest={newest} />}
    </>
  );
};
