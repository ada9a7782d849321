import type { JSX } from 'preact';
import type { SerializedSuppression } from '../../http/schemas/suppression.ts';
import { linkTo } from '../data/location.ts';
import { useTimes } from '../data/time.ts';
import { CopyField } from './facts.tsx';
import { Mark, Status } from './icons.tsx';
import { RemoveSuppression } from './suppression-dialogs.tsx';

type Entry = SerializedSuppression['entries'][number];

/** A suppressed address with its evidence. */

export const REASONS = {
  bounce: { word: 'Bounced', state: 'bounced' },
  complaint: { word: 'Complained', state: 'complained' },
  unsubscribe: { word: 'Unsubscribed', state: 'unsubscribed' },
  manual: { word: 'Added', state: 'suppressed' },
  import: { word: 'Imported', state: 'suppressed' },
} as const satisfies Readonly<Record<Entry['reason'], object>>;

export const SCOPES: Readonly<Record<Entry['scope'], string>> = {
  all: 'everything',
  transactional: 'transactional mail',
  bulk: 'bulk mail',
  topic: 'one topic',
};

const Evidence = ({ entry }: { readonly entry: Entry }): JSX.Element => {
  const times = useTimes();
  const { state, word } = REASONS[entry.reason];
  return (
    <li class="said">
      <Mark state={entry.status === 'active' ? state : 'cancelled'} />
      <div>
        <p>
          <b class="b">{word}</b> <time dateTime={entry.added_at}>{times.full(entry.added_at)}</time>, keeps back{' '}
          {SCOPES[entry.scope]}
          {entry.topic_id !== null && (
            <>
              {' '}
              <code>{entry.topic_id}</code>
            </>
          )}
        </p>
        {entry.evidence !== null && (
          <pre>
            <bdi>{entry.evidence}</bdi>
          </pre>
        )}
        <p class="muted">
          {entry.removed_at !== null && `Taken back ${times.full(entry.removed_at)}. `}
          {entry.expires_at !== null && entry.removed_at === null && (
            <>
              {entry.status === 'expired' ? 'Ended' : 'Ends'} {times.full(entry.expires_at)}.{' '}
            </>
          )}
          {entry.message_id !== null && (
            <a class="lnk" href={linkTo(`/messages/${entry.message_id}`)}>
              The message that caused it
            </a>
          )}
        </p>
      </div>
    </li>
  );
};

interface RowProps {
  readonly suppression: SerializedSuppression;
  readonly isOpen?: boolean;
}

export const SuppressionRow = ({ suppression, isOpen = false }: RowProps): JSX.Element => {
  const times = useTimes();
  const { address, reason, scope, status, expires_at: expiresAt, created_at: createdAt, entries } = suppression;
  return (
    <details class="sup" open={isOpen}>
      <summary>
        <Status
          state={status === 'active' ? REASONS[reason].state : 'cancelled'}
          word={status === 'active' ? REASONS[reason].word : 'Not suppressed'}
        />
        <bdi class="ell b">{address ?? 'erased'}</bdi>
        <span class="two">
          {SCOPES[scope]}
          {expiresAt !== null && status === 'active' && `, until ${times.short(expiresAt)}`}
        </span>
        <time class="tm" dateTime={createdAt}>
          {times.short(createdAt)}
        </time>
      </summary>
      <div class="evidence">
        <ul aria-label="Evidence">
          {entries.map((entry) => (
            <Evidence key={`${entry.added_at} ${entry.reason} ${entry.scope} ${entry.topic_id}`} entry={entry} />
          ))}
        </ul>
        <div class="evend">
          <CopyField text={suppression.id} name="id" />
          {address !== null && (
            <a class="lnk" href={linkTo('/messages', { to: address, period: 'all' })}>
              Its messages
            </a>
          )}
          {status === 'active' && <RemoveSuppression suppression={suppression} />}
        </div>
      </div>
    </details>
  );
};
