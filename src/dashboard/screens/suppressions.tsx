import type { JSX } from 'preact';
import type { z } from 'zod';
import type { SerializedSuppression, suppressionCheckSchema } from '../../http/schemas/suppression.ts';
import { urlOf } from '../data/api.ts';
import { navigate, usePlace, withParameters } from '../data/location.ts';
import { useList, useResource } from '../data/queries.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { Download } from '../parts/download.tsx';
import { Icon, Mark } from '../parts/icons.tsx';
import { Listed } from '../parts/listed.tsx';
import { Empty, Fault, Skeleton } from '../parts/states.tsx';
import { AddSuppressions, ImportSuppressions } from '../parts/suppression-dialogs.tsx';
import { REASONS, SCOPES, SuppressionRow } from '../parts/suppression-row.tsx';

type Check = z.infer<typeof suppressionCheckSchema>;

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

/** One address: whether mail goes there, and all that was ever said against it. */
const Checked = ({ address }: { readonly address: string }): JSX.Element => {
  const { data, error } = useResource<Check>({ path: '/v1/suppressions/check', query: { address } });
  if (error !== null) return <Fault error={error} />;
  if (data === undefined) return <Skeleton rows={2} />;
  const { suppression } = data;
  return (
    <div class="stack">
      <section class="why" aria-label="Answer">
        <Answer {...data} />
      </section>
      {suppression !== null && (
        <div class="list">
          <SuppressionRow key={suppression.id} suppression={suppression} isOpen />
        </div>
      )}
    </div>
  );
};

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

const All = (): JSX.Element => {
  const { query } = usePlace();
  const list = useList<SerializedSuppression>({
    path: '/v1/suppressions',
    query: { limit: 50, reason: query.get('reason'), scope: query.get('scope') },
  });
  const isFiltered = query.has('reason') || query.has('scope');
  return (
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
            No address is kept back for this reason now.
          </Empty>
        ) : (
          <Empty icon="forbid" title="Mail is kept from nobody">
            Addresses come here by themselves after a hard bounce, a complaint, or when somebody unsubscribes. Each
            stands here with what speaks for it.
          </Empty>
        )
      }
    />
  );
};

/** Addresses that mail is kept from, each with its evidence. */
export const Suppressions = (): JSX.Element => {
  const { query } = usePlace();
  const address = query.get('address');
  const requests = [
    urlOf('/v1/suppressions', { limit: 50, reason: query.get('reason'), scope: query.get('scope') }),
    ...(address === null ? [] : [urlOf('/v1/suppressions/check', { address })]),
    '/v1/suppressions/export',
  ];
  return (
    <>
      <div class="head">
        <div>
          <h1>Suppressions</h1>
          <p class="sub">Addresses that mail is kept from, whichever domain it is sent from</p>
        </div>
        <div class="acts">
          <ApiButton requests={requests} />
          <Download word="Export" path="/v1/suppressions/export" accept="text/csv" name="suppressions.csv" />
          <ImportSuppressions />
          <AddSuppressions />
        </div>
      </div>
      <Search />
      {address === null ? <All /> : <Checked key={address} address={address} />}
    </>
  );
};
