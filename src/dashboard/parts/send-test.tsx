import type { JSX } from 'preact';
import type { SerializedDomain } from '../../http/schemas/domain.ts';
import type { List } from '../../http/schemas/envelope.ts';
import { request } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { linkTo, navigate } from '../data/location.ts';
import { useMayManage } from '../data/names.ts';
import { useResource } from '../data/queries.ts';
import { useStore } from '../data/store.ts';
import { Action } from './action.tsx';

/** Sends a test message by hand. */

/** True if the member may send. A key's permission is unknown until it tries. */
const useMaySend = (): boolean => {
  const permissions = useStore(session)?.permissions ?? ['send'];
  return permissions.some((one) => one === 'send' || one === 'admin');
};

const Sender = (): JSX.Element => {
  const { data } = useResource<List<SerializedDomain>>({
    path: '/v1/domains',
    query: { limit: 100 },
    enabled: useMayManage(),
  });
  const name = data?.data.find(({ status }) => status === 'verified')?.name;
  return (
    <label class="row" key={name}>
      From
      <input
        class="inp"
        name="from"
        type="email"
        required
        defaultValue={name === undefined ? '' : `test@${name}`}
        placeholder="an address at a domain that may send"
      />
    </label>
  );
};

export const SendTest = (): JSX.Element | null => {
  if (!useMaySend()) return null;
  const send = async (form: FormData): Promise<undefined> => {
    const body = Object.fromEntries(['from', 'to', 'subject', 'text'].map((name) => [name, String(form.get(name))]));
    const { id } = await request<{ readonly id: string }>('/v1/messages/send', { method: 'POST', body });
    navigate(linkTo(`/messages/${id}`));
  };
  return (
    <Action word="Send a test" icon="send" tone="primary" title="Send a message by hand" act={send}>
      <Sender />
      <label class="row">
        To
        <input class="inp" name="to" type="email" required />
      </label>
      <label class="row">
        Subject
        <input class="inp" name="subject" required defaultValue="A test" />
      </label>
      <label class="row">
        Text
        <textarea class="inp" name="text" rows={4} required defaultValue="It works." />
      </label>
    </Action>
  );
};
