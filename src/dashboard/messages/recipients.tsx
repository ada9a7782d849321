import type { JSX } from 'preact';
import type { SerializedMessage } from '../../http/resources/messages/message.ts';
import { Choice } from '../components/choice.tsx';
import { Mark, STATES, type State, Status } from '../components/icons.tsx';
import { navigate, usePlace, withParameters } from '../data/location.ts';
import { useIsNarrow } from '../data/narrow.ts';
import { count } from '../data/time.ts';
import { VirtualList } from './list.tsx';
import { BOUNCE_REASONS, outcomesOf, type RecipientOutcome } from './outcome-words.ts';

/** All recipients of a message, by outcome. */

type Recipient = SerializedMessage['recipients'][number];

const ROW_PIXELS = 44;
const CARD_PIXELS = 64;

const MARKS = ['complained', 'unsubscribed', 'clicked', 'opened'] as const satisfies readonly (State &
  keyof Recipient)[];

const codeOf = ({ smtp }: Recipient): string | null =>
  smtp === null || smtp.code === 0 ? null : [smtp.code, smtp.enhanced].filter((one) => one !== null).join(' ');

const whyOf = ({ category, reason }: Recipient): string | null =>
  category === null ? reason : (BOUNCE_REASONS[category] ?? reason);

/** Why the recipient is in its state, and the reply that says so. */
const reasonOf = (recipient: Recipient): string => {
  const { kind, status } = recipient;
  const isRefused = status !== 'delivered' && status !== 'sending';
  return [kind === 'to' ? null : kind, ...(isRefused ? [whyOf(recipient), codeOf(recipient)] : [])]
    .filter((one) => one !== null)
    .join(' · ');
};

const Row = ({ recipient }: { readonly recipient: Recipient }): JSX.Element => (
  <a
    class="rr hoverable cells"
    href={withParameters({ tab: null, outcome: null, recipient: recipient.id })}
    title="Show only this recipient in the timeline"
  >
    <bdi class="ell b">{recipient.address ?? 'erased or expired'}</bdi>
    <span class="states">
      <Status state={recipient.status} />
      {MARKS.filter((mark) => recipient[mark]).map((mark) => (
        <span key={mark} title={STATES[mark].word}>
          <Mark state={mark} />
          <span class="vh">{STATES[mark].word}</span>
        </span>
      ))}
    </span>
    <bdi class="ell muted">{reasonOf(recipient)}</bdi>
  </a>
);

const outcomeIn = (query: URLSearchParams, known: ReadonlyMap<RecipientOutcome, number>): RecipientOutcome | null =>
  [...known.keys()].find((one) => one === query.get('outcome')) ?? null;

/** The recipients of a message in a virtual list. The filter by outcome is kept in the URL. */
export const Recipients = ({ message }: { readonly message: SerializedMessage }): JSX.Element => {
  const { query } = usePlace();
  const isNarrow = useIsNarrow();
  const { recipients } = message;
  const counts = new Map<RecipientOutcome, number>();
  for (const outcome of recipients.flatMap(outcomesOf)) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const outcome = outcomeIn(query, counts);
  const shown = recipients.filter((one) => outcome === null || outcomesOf(one).includes(outcome));
  const words = [...counts].map(([one, many]) => [one, `${STATES[one].word}: ${count(many)}`]);
  return (
    <>
      <div class="tools flex wrap">
        <Choice
          icon="filter"
          label="Outcome"
          value={outcome ?? ''}
          options={{ '': `All ${count(recipients.length)} recipients`, ...Object.fromEntries(words) }}
          choose={(value) => navigate(withParameters({ outcome: value || null }), 'replace')}
        />
        <span class="sp" />
        <span class="muted">
          {count(shown.length)} of {count(recipients.length)}
        </span>
      </div>
      <div class="list">
        <VirtualList
          label="Recipients"
          rows={shown}
          keyOf={({ id }) => id}
          heightOf={() => (isNarrow ? CARD_PIXELS : ROW_PIXELS)}
          onEnd={() => undefined}
          render={(recipient) => <Row recipient={recipient} />}
        />
      </div>
    </>
  );
};
