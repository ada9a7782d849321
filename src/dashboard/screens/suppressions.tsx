import type { ComponentChildren, JSX } from 'preact';
import type { z } from 'zod';
import type { AsOf, List } from '../../http/schemas/envelope.ts';
import type { SerializedSuppression, suppressionCheckSchema } from '../../http/schemas/suppression.ts';
import { ApiFault, urlOf } from '../data/api.ts';
import { type Moment, momentsOf, type Past, queryAt, useAsOf, useMoments } from '../data/as-of.ts';
import { navigate, usePlace, withParameters } from '../data/location.ts';
import { useList, useResource } from '../data/queries.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { AsOfBar, AsOfButton } from '../parts/as-of-bar.tsx';
import { Download } from '../parts/download.tsx';
import { Icon, Mark } from '../parts/icons.tsx';
import { Listed } from '../parts/listed.tsx';
import { Empty, Fault, Skeleton } from '../parts/states.tsx';
import { AddSuppressions, ImportSuppressions } from '../parts/suppression-dialogs.tsx';
import { REASONS, SCOPES, SuppressionRow } from '../parts/suppression-row.tsx';

type Check = z.infer<typeof suppressionCheckSchema>;

const CHECK = '/v1/suppressions/check';
const EXPORT = '/v1/suppressions/export';

const Answer = ({ address, suppressed, opted_in: topics }: Check): JSX.Element => {
  const kept = [suppressed.transactional && 'Transactional mail', suppressed.bulk && 'Bulk mail'].filter(Boolean);
  const said = kept.length === 2 ? 'Mail' : kept[0];
  return (
    <p class="say held2">
      <Mark state={kept.length === 0 ? 'active' : 'suppressed'} />
      <span>
        {kept.length === 0 ? 'Mail is sent to ' : `${said} is kept from `}
        <bdi class="b">{address}</bdi>
        {topics.length > 0 && `. Topics it has opted in to: ${topics.length}`}.
      </span>
    </p>
  );
};

/** The recorded history of an address. */
const momentsIn = (suppression: SerializedSuppression | null): readonly Moment[] =>
  momentsOf(
    (suppression?.entries ?? []).flatMap(({ reason, added_at: addedAt, removed_at: removedAt }) => [
      { at: addedAt, word: REASONS[reason].word.toLowerCase() },
      ...(removedAt === null ? [] : [{ at: removedAt, word: 'taken back' }]),
    ]),
  );

interface ChoiceProps {
  readonly name: 'reason' | 'scope';
  readonly any: string;
  readonly words: Readonly<Record<string, string>>;
}

const Choice = ({ name, any, words }: ChoiceProps): JSX.Element => (
  <select
    class="pick tall"
    aria-label={name === 'reason' ? 'Reason' : 'What is kept back'}
    value={usePlace().query.get(name) ?? ''}
    onChange={({ currentTarget }) => navigate(withParameters({ [name]: currentTarget.value || null }))}
  >
    <option value="">{any}</option>
    {Object.entries(words).map(([value, word]) => (
      <option key={value} value={value}>
        {word}
      </option>
    ))}
  </select>
);

const REASON_WORDS = Object.fromEntries(Object.entries(REASONS).map(([reason, { word }]) => [reason, word]));

const Search = (): JSX.Element => {
  const asked = usePlace().query.get('address') ?? '';
  const search = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const address = String(new FormData(event.currentTarget).get('address')).trim();
    navigate(withParameters({ address: address || null }));
  };
  return (
    <div class="bar">
      <form class="field" aria-label="Search" onSubmit={search}>
        <Icon name="search" />
        <input
          key={asked}
          name="address"
          defaultValue={asked}
          placeholder="A whole address: is mail sent there, and if not, why"
          aria-label="Address"
          spellcheck={false}
        />
        {asked !== '' && (
          <a class="btn ghost small" href={withParameters({ address: null })}>
            All
          </a>
        )}
      </form>
      {asked === '' && (
        <>
          <Choice name="reason" any="Any reason" words={REASON_WORDS} />
          <Choice name="scope" any="Any mail" words={SCOPES} />
        </>
      )}
    </div>
  );
};

interface FrameProps {
  readonly moments: readonly Moment[];
  readonly asOf: AsOf | undefined;
  readonly requests: readonly string[];
  readonly children: ComponentChildren;
}

const Frame = ({ moments, asOf, requests, children }: FrameProps): JSX.Element => (
  <>
    <AsOfBar moments={moments} asOf={asOf} />
    <div class="head">
      <div>
        <h1>Suppressions</h1>
        <p class="sub">Addresses that mail is kept from, whichever domain it is sent from</p>
      </div>
      <div class="acts">
        <AsOfButton moments={moments} />
        <ApiButton requests={[...requests, EXPORT]} />
        {useAsOf() === null && <Download word="Export" path={EXPORT} accept="text/csv" name="suppressions.csv" />}
        <ImportSuppressions />
        <AddSuppressions />
      </div>
    </div>
    <Search />
    {children}
  </>
);

/** The suppression of an address at a past moment. */
const useThen = (id: string | undefined) => {
  const at = useAsOf();
  const isPast = at !== null && id !== undefined;
  const path = `/v1/suppressions/${id}`;
  const { data, error } = useResource<Past<SerializedSuppression>>({ path, query: queryAt(at), enabled: isPast });
  const wasThere = !(error instanceof ApiFault && error.status === 404);
  return { isPast, data, wasThere, error: wasThere ? error : null, request: urlOf(path, queryAt(at)) };
};

const Entry = ({ suppression, now }: { readonly suppression: Past<SerializedSuppression>; readonly now: Check }) => (
  <div class="list">
    <SuppressionRow key={`${now.address} ${suppression.as_of?.leaf_index}`} suppression={suppression} isOpen />
  </div>
);

const CheckedThen = ({ wasThere, data, now }: ReturnType<typeof useThen> & { readonly now: Check }) => {
  if (wasThere) return data === undefined ? null : <Entry suppression={data} now={now} />;
  return (
    <Empty icon="forbid" title="Not suppressed at that time">
      There was no record of this address.
    </Empty>
  );
};

const CheckedNow = ({ now }: { readonly now: Check }): JSX.Element => (
  <div class="stack">
    <section class="why" aria-label="Answer">
      <Answer {...now} />
    </section>
    {now.suppression !== null && <Entry suppression={now.suppression} now={now} />}
  </div>
);

/** One address: whether it is suppressed, and its complete history. */
const Checked = ({ address }: { readonly address: string }): JSX.Element => {
  const { data: now, error } = useResource<Check>({ path: CHECK, query: { address } });
  const then = useThen(now?.suppression?.id);
  const fault = error ?? then.error;
  const requests = [urlOf(CHECK, { address }), ...(then.isPast ? [then.request] : [])];
  const body = (): JSX.Element | null => {
    if (fault !== null) return <Fault error={fault} />;
    if (now === undefined) return <Skeleton rows={2} />;
    return then.isPast ? <CheckedThen {...then} now={now} /> : <CheckedNow now={now} />;
  };
  return (
    <Frame moments={momentsIn(now?.suppression ?? null)} asOf={then.data?.as_of} requests={requests}>
      {body()}
    </Frame>
  );
};

const All = (): JSX.Element => {
  const { query } = usePlace();
  const at = useAsOf();
  const moments = useMoments({ types: 'suppression.*' });
  const asked = { limit: 50, reason: query.get('reason'), scope: query.get('scope'), ...queryAt(at) };
  const list = useList<SerializedSuppression>({ path: '/v1/suppressions', query: asked });
  // Every page has the same `as_of`.
  const first: Past<List<SerializedSuppression>> | undefined = list.data?.pages[0];
  const isFiltered = query.has('reason') || query.has('scope');
  return (
    <Frame moments={moments} asOf={first?.as_of} requests={[urlOf('/v1/suppressions', asked)]}>
      <Listed
        label="Suppressions"
        list={list}
        look="sups"
        keyOf={({ id }) => id}
        render={(suppression) => <SuppressionRow suppression={suppression} />}
        empty={
          isFiltered ? (
            <Empty
              icon="search"
              title="Nothing matches"
              actions={
                <a class="btn" href={withParameters({ reason: null, scope: null })}>
                  Without filters
                </a>
              }
            >
              No address {at === null ? 'is kept back for this reason now' : 'was kept back for this reason then'}.
            </Empty>
          ) : (
            <Empty icon="forbid" title="No suppressed addresses">
              Addresses are added automatically after a hard bounce, a complaint or an unsubscription. Each entry shows
              its evidence.
            </Empty>
          )
        }
      />
    </Frame>
  );
};

/** Suppressed addresses with their evidence; now or in the past. */
export const Suppressions = (): JSX.Element => {
  const address = usePlace().query.get('address');
  return address === null ? <All /> : <Checked key={address} address={address} />;
};
