import type { JSX } from 'preact';
import type { SerializedListedMessage } from '../../http/schemas/message.ts';
import { linkTo } from '../data/location.ts';
import { useTimes } from '../data/time.ts';
import { Mark, Status } from './icons.tsx';

type Message = SerializedListedMessage;

const wordOf = ({ partial, recipients }: Message): string | undefined => {
  if (!partial) return undefined;
  const delivered = recipients.filter(({ status }) => status === 'delivered').length;
  return `Partly, ${delivered} of ${recipients.length}`;
};

/** Events after delivery. */
const Afterwards = ({ recipients }: Message): JSX.Element | null => {
  if (recipients.some(({ complained }) => complained)) return <Mark state="complained" />;
  if (recipients.some(({ clicked }) => clicked)) return <Mark state="clicked" />;
  return recipients.some(({ opened }) => opened) ? <Mark state="opened" /> : null;
};

const TAGS_SHOWN = 1;

interface RowProps {
  readonly message: Message;
  /** True if the keyboard selection is here. */
  readonly isSelected: boolean;
  /** True if the message is selected for cancellation. */
  readonly isPicked: boolean;
  readonly keyName: string;
  pick(): void;
}

/** A message in a list. Each cell names the filter that it can set: `status=bounced`. */
export const MessageRow = ({ message, isSelected, isPicked, keyName, pick }: RowProps): JSX.Element => {
  const times = useTimes();
  const [first, ...further] = message.recipients;
  const word = wordOf(message);
  return (
    <>
      <input
        type="checkbox"
        class="picked"
        aria-label={`Select ${message.subject ?? message.id}`}
        checked={isPicked}
        tabIndex={-1}
        onChange={pick}
      />
      <a class="lr" href={linkTo(`/messages/${message.id}`)} {...(isSelected && { 'data-selected': message.id })}>
        <span class="st" data-filter={`status=${message.status}`}>
          <Status state={message.status} {...(word !== undefined && { word })} />
          <span class="also">
            <Afterwards {...message} />
          </span>
        </span>
        <span class="to" {...(first?.address && { 'data-filter': `to=${first.address}` })}>
          <bdi class="ell">{first?.address ?? 'erased or expired'}</bdi>
          {further.length > 0 && <span class="more">+{further.length}</span>}
        </span>
        <span class="subj" {...(message.subject !== null && { 'data-filter': `subject="${message.subject}"` })}>
          <bdi class="ell">{message.subject ?? '(no longer stored)'}</bdi>
          {message.tags.slice(0, TAGS_SHOWN).map(({ name, value }) => (
            <bdi class="tag" key={name} data-filter={`tag=${name}:${value}`}>
              {name}:{value}
            </bdi>
          ))}
        </span>
        <bdi class="ell two" data-filter={`key_id=${message.api_key_id}`}>
          {keyName}
        </bdi>
        <time class="tm" dateTime={message.created_at}>
          {times.clock(message.created_at)}
        </time>
      </a>
    </>
  );
};

/** The filter of the cell under the pointer, or else of the selected row's status. */
export const cellFilter = (): readonly [name: string, value: string] | null => {
  // The cell of the subject contains tags, so the innermost match wins.
  const hovered = [...document.querySelectorAll('.lr [data-filter]:hover')].at(-1);
  const cell = hovered ?? document.querySelector('.lr[data-selected] [data-filter]');
  const text = cell?.getAttribute('data-filter') ?? '';
  const at = text.indexOf('=');
  return at < 0 ? null : [text.slice(0, at), text.slice(at + 1)];
};
