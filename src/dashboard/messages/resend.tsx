import type { JSX } from 'preact';
import type { SerializedMessage } from '../../http/resources/messages/message.ts';
import { Action, type Outcome } from '../components/action.tsx';
import { useAsOf } from '../components/as-of.tsx';
import { Fact } from '../components/facts.tsx';
import { ApiFault, request } from '../data/api.ts';
import { linkTo, navigate } from '../data/location.ts';
import { shortId } from '../data/names.ts';
import { count } from '../data/time.ts';

/** Sends messages again to recipients that they did not reach: one message, or the selected ones of a list. */

const UNREACHED: readonly string[] = ['bounced', 'failed', 'expired', 'suppressed'];
/** Selected messages per request: the most that the service accepts. */
const RESENT_MAX = 100;
/** More addresses make the dialog longer than a phone's screen. */
const ADDRESSES_SHOWN = 5;

type Recipients = SerializedMessage['recipients'];

const unreachedOf = ({ recipients }: SerializedMessage): Recipients =>
  recipients.filter(({ status, resent_as: newId }) => UNREACHED.includes(status) && newId === null);

const MessageLinks = ({ name, ids }: { readonly name: string; readonly ids: readonly string[] }): JSX.Element | null =>
  ids.length === 0 ? null : (
    <Fact name={name}>
      <span class="states">
        {ids.map((id) => (
          <a class="lnk" key={id} href={linkTo(`/messages/${id}`)}>
            {shortId(id)}
          </a>
        ))}
      </span>
    </Fact>
  );

/** Links to the message that this one sends again, and to those that were sent instead of it. */
export const ResendFacts = ({ message }: { readonly message: SerializedMessage }): JSX.Element => (
  <>
    <MessageLinks name="Sends again" ids={message.resend_of === null ? [] : [message.resend_of]} />
    <MessageLinks
      name="Sent again as"
      ids={[...new Set(message.recipients.flatMap(({ resent_as: id }) => id ?? []))]}
    />
  </>
);

const SkipSuppressed = (): JSX.Element => (
  <label class="opt">
    <input type="checkbox" name="skip_suppressed" />
    <span>Leave out suppressed addresses</span>
  </label>
);

const isSkipping = (form: FormData): boolean => form.get('skip_suppressed') !== null;

/** The refusal with addresses instead of ids, and with the remedy. */
const explained = (error: unknown, recipients: Recipients): unknown => {
  if (!(error instanceof ApiFault) || error.code !== 'recipient_suppressed') return error;
  const named = Object.values(error.details)
    .flat()
    .map((sentence) =>
      sentence.replace(/^rcp_[a-z2-7]+/, (id) => recipients.find((one) => one.id === id)?.address ?? id),
    );
  const remedy = 'Remove the suppression if the address works again, or leave out suppressed addresses.';
  const { status, code, requestId } = error;
  return new ApiFault(`${named.join('; ')}. ${remedy}`, { status, code, requestId });
};

export const ResendButton = ({ message }: { readonly message: SerializedMessage }): JSX.Element | null => {
  const unreached = unreachedOf(message);
  const isPast = useAsOf() !== null;
  if (unreached.length === 0 || isPast) return null;
  const act = async (form: FormData): Promise<undefined> => {
    const { id } = await request<{ readonly id: string }>(`/v1/messages/${message.id}/resend`, {
      method: 'POST',
      body: { recipient_ids: unreached.map(({ id }) => id), skip_suppressed: isSkipping(form) },
    }).catch((error: unknown) => Promise.reject(explained(error, unreached)));
    navigate(linkTo(`/messages/${id}`));
  };
  const rest = unreached.length - ADDRESSES_SHOWN;
  return (
    <Action
      word="Send again"
      operation="POST /v1/messages/:id/resend"
      icon="send"
      tone="plain"
      title="Send this message again?"
      act={act}
    >
      <p class="two">
        A new message with the same content is sent to {unreached.length === 1 ? 'this address' : 'these addresses'}:
      </p>
      <ul class="two">
        {unreached.slice(0, ADDRESSES_SHOWN).map(({ id, address }) => (
          <li key={id}>
            <bdi>{address ?? 'erased or expired'}</bdi>
          </li>
        ))}
        {rest > 0 && <li>{count(rest)} more</li>}
      </ul>
      <SkipSuppressed />
    </Action>
  );
};

interface ResentMessages {
  readonly matched: number;
  readonly sent: number;
  readonly data: readonly {
    readonly id: string;
    readonly replayed: boolean;
    readonly error: { readonly code: string; readonly message: string } | null;
  }[];
}

/** Reasons with how many messages each refused, the most frequent first. */
const refusalsOf = ({ data }: ResentMessages): readonly (readonly [message: string, times: number])[] => {
  const times = new Map<string, number>();
  for (const { error, replayed } of data) {
    const why = replayed ? 'it was sent again before' : error?.message;
    if (why !== undefined) times.set(why, (times.get(why) ?? 0) + 1);
  }
  return [...times].toSorted(([, a], [, b]) => b - a);
};

const outcomeOf = (result: ResentMessages): Outcome => ({
  shown: (
    <>
      <h2>
        Sent again: {count(result.sent)} of {count(result.matched)}
      </h2>
      <ul class="two">
        {refusalsOf(result).map(([why, times]) => (
          <li key={why}>
            {count(times)} not sent: <bdi>{why}</bdi>
          </li>
        ))}
      </ul>
    </>
  ),
  word: 'Done',
});

/** Sends selected messages again. */
export const ResendPicked = ({ ids }: { readonly ids: ReadonlySet<string> }): JSX.Element | null => {
  if (ids.size > RESENT_MAX) return null;
  const act = async (form: FormData): Promise<Outcome> => {
    const body = { ids: [...ids], skip_suppressed: isSkipping(form) };
    return outcomeOf(await request<ResentMessages>('/v1/messages/resend', { method: 'POST', body }));
  };
  return (
    <Action
      word={`Send ${ids.size} again`}
      operation="POST /v1/messages/resend"
      icon="send"
      tone="plain"
      title={ids.size === 1 ? 'Send the message again?' : `Send ${ids.size} messages again?`}
      act={act}
    >
      <p class="two">
        Recipients that bounced, failed, expired or were suppressed get the same content in new messages. Others get
        nothing.
      </p>
      <SkipSuppressed />
    </Action>
  );
};
