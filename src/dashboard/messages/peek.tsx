import type { JSX } from 'preact';
import type { z } from 'zod';
import type { explanationSchema } from '../../http/resources/messages/explain.ts';
import type { SerializedMessage } from '../../http/resources/messages/message.ts';
import { CopyField, Fact, Facts } from '../components/facts.tsx';
import { Icon, Pill, Status } from '../components/icons.tsx';
import { Fault } from '../components/states.tsx';
import { linkTo, navigate, withParameters } from '../data/location.ts';
import { useResource } from '../data/queries.ts';
import { inZone, useTimes } from '../data/time.ts';
import { messageState } from './outcome-words.ts';

export type Explanation = z.infer<typeof explanationSchema>;

/** The status of a message; `Partly delivered, 1 of 2` if only some recipients have it. */
export const MessagePill = ({ message }: { readonly message: SerializedMessage }): JSX.Element => (
  <Pill {...messageState(message)} />
);

const RECIPIENTS_SHOWN = 8;

/** Explains the state of a message next to its list. */
export const Peek = ({ id }: { readonly id: string }): JSX.Element => {
  const times = useTimes();
  const message = useResource<SerializedMessage>({ path: `/v1/messages/${id}` });
  const explanation = useResource<Explanation>({ path: `/v1/messages/${id}/explain` });
  const { data } = message;
  const error = message.error ?? explanation.error;
  return (
    <aside class="peek" aria-label="Message">
      <div class="peekbar flex">
        {data !== undefined && <MessagePill message={data} />}
        <span class="sp" />
        <a class="btn small" href={linkTo(`/messages/${id}`)}>
          Open
        </a>
        <button
          type="button"
          class="btn ghost small square"
          aria-label="Close"
          onClick={() => navigate(withParameters({ peek: null }), 'replace')}
        >
          <Icon name="cross" />
        </button>
      </div>
      {error !== null && <Fault error={error} />}
      {data !== undefined && (
        <>
          <h2>
            <bdi>{data.subject ?? '(no longer stored)'}</bdi>
          </h2>
          <p class="muted">{times.full(data.created_at)}</p>
          <p class="say">
            <bdi>{inZone(explanation.data?.summary ?? '', times)}</bdi>
          </p>
          <ul class="peeked">
            {data.recipients.slice(0, RECIPIENTS_SHOWN).map((recipient) => (
              <li key={recipient.id}>
                <bdi class="ell">{recipient.address ?? 'erased or expired'}</bdi>
                <Status state={recipient.status} />
              </li>
            ))}
          </ul>
          {data.recipients.length > RECIPIENTS_SHOWN && (
            <a class="lnk" href={linkTo(`/messages/${id}`, { tab: 'recipients' })}>
              {data.recipients.length - RECIPIENTS_SHOWN} more recipients
            </a>
          )}
          <Facts>
            <Fact name="Id">
              <CopyField text={data.id} name="id" />
            </Fact>
            <Fact name="Message-ID">
              <CopyField text={data.message_id} name="Message-ID" />
            </Fact>
          </Facts>
        </>
      )}
    </aside>
  );
};
