import type { JSX } from 'preact';
import type { List } from '../../http/schemas/envelope.ts';
import type { SerializedLink, SerializedMember } from '../../http/schemas/member.ts';
import type { SerializedPasskey } from '../../http/schemas/passkey.ts';
import { request } from '../data/api.ts';
import { environmentOfOrganization } from '../data/credentials.ts';
import { currentEnvironment } from '../data/location.ts';
import { useRead } from '../data/queries.ts';
import { useTimes } from '../data/time.ts';
import { Action, type Outcome } from './action.tsx';
import { CopyButton } from './facts.tsx';
import { Fault, Skeleton } from './states.tsx';

/** Actions of owners on members. */

const ROLES = {
  owner: 'everything, also members and billing',
  developer: 'sends, reads, and manages keys, domains, templates and webhooks',
  analyst: 'reads, without addresses, subjects and bodies of mail',
  auditor: 'reads everything but contents of mail, and changes nothing',
} as const;

const environment = () => environmentOfOrganization(currentEnvironment());

const ask = <T,>(path: string, method: 'POST' | 'PATCH' | 'DELETE', body?: unknown): Promise<T> =>
  request<T>(path, { method, environment: environment(), body });

const Link = ({ link, name }: { readonly link: SerializedLink; readonly name: string }): JSX.Element => {
  const times = useTimes();
  return (
    <>
      <h2>
        A link for <bdi>{name}</bdi>
      </h2>
      <div class="secret cp">
        <code>{link.url}</code>
        <CopyButton text={link.url} label="Copy the link" />
      </div>
      <p class="muted">
        {link.mailed && 'It is on its way by mail. '}
        Hand it over now: nobody can show it again. It works once, until {times.short(link.expires_at)}.
      </p>
    </>
  );
};

const shownOnce = (link: SerializedLink, name: string): Outcome => ({
  shown: <Link link={link} name={name} />,
  word: 'It is handed over',
});

const RoleField = ({ chosen }: { readonly chosen: keyof typeof ROLES }): JSX.Element => (
  <fieldset class="row">
    <legend>Role</legend>
    {Object.entries(ROLES).map(([name, text]) => (
      <label class="opt" key={name}>
        <input type="radio" name="role" value={name} defaultChecked={name === chosen} />
        <span>
          {name}
          <small>{text}</small>
        </span>
      </label>
    ))}
  </fieldset>
);

export const InviteMember = (): JSX.Element => {
  const invite = async (form: FormData): Promise<Outcome> => {
    const name = String(form.get('name')).trim();
    const body = { email: form.get('email'), role: form.get('role'), ...(name !== '' && { name }) };
    const made = await ask<SerializedMember & { readonly link: SerializedLink }>('/v1/members', 'POST', body);
    return shownOnce(made.link, made.name);
  };
  return (
    <Action word="Invite" icon="plus" tone="primary" title="Invite a person" act={invite}>
      <label class="row">
        Email address
        <input class="inp" name="email" type="email" required autocomplete="off" />
      </label>
      <label class="row">
        Name
        <input class="inp" name="name" maxLength={100} autocomplete="off" />
      </label>
      <RoleField chosen="developer" />
    </Action>
  );
};

interface OfMember {
  readonly member: SerializedMember;
}

export const ChangeRole = ({ member }: OfMember): JSX.Element => {
  const change = async (form: FormData): Promise<undefined> => {
    await ask(`/v1/members/${member.id}`, 'PATCH', { role: form.get('role') });
  };
  return (
    <Action word="Role" icon="person" tone="plain" title={`Another role for ${member.name}?`} isSmall act={change}>
      <p class="two">It holds for open sessions within a second.</p>
      <RoleField chosen={member.role} />
    </Action>
  );
};

export const MakeLink = ({ member }: OfMember): JSX.Element => {
  const make = async (): Promise<Outcome> =>
    shownOnce(await ask<SerializedLink>(`/v1/members/${member.id}/links`, 'POST', {}), member.name);
  if (member.status === 'invited')
    return (
      <Action
        word="Renew"
        icon="link"
        tone="plain"
        title={`Renew the invitation of ${member.name}?`}
        isSmall
        act={make}
      >
        <p class="two">Makes a new link that works for 7 days. Earlier links keep working until they expire.</p>
      </Action>
    );
  return (
    <Action word="Link" icon="link" tone="plain" title={`A link for ${member.name}?`} isSmall act={make}>
      <p class="two">Anyone who has the link can sign in as them. Earlier links keep working until they expire.</p>
    </Action>
  );
};

const PasskeyField = ({ member }: OfMember): JSX.Element => {
  const times = useTimes();
  const path = `/v1/members/${member.id}/passkeys`;
  const { data, error } = useRead([path], (signal) =>
    request<List<SerializedPasskey>>(path, { signal, environment: environment() }),
  );
  if (error !== null) return <Fault error={error} />;
  if (data === undefined) return <Skeleton rows={1} />;
  return (
    <fieldset class="row">
      <legend>Passkey</legend>
      {data.data.map(({ id, created_at: createdAt, synced }) => (
        <label class="opt" key={id}>
          <input type="radio" name="passkey" value={id} required />
          <span>
            Added {times.short(createdAt)}
            <small>{synced ? 'on several devices' : 'on one device'}</small>
          </span>
        </label>
      ))}
    </fieldset>
  );
};

/** Renders nothing for a member without passkeys. */
export const MemberPasskeys = ({ member }: OfMember): JSX.Element | null => {
  if (member.passkeys === 0) return null;
  const opener = member.passkeys === 1 ? '1 passkey' : `${member.passkeys} passkeys`;
  const remove = (form: FormData): Promise<undefined> =>
    ask<undefined>(`/v1/members/${member.id}/passkeys/${form.get('passkey')}`, 'DELETE');
  return (
    <Action
      word="Remove"
      opener={opener}
      icon="key"
      tone="danger"
      title={`Remove a passkey of ${member.name}?`}
      isSmall
      act={remove}
    >
      <p class="two">
        Of a device that is lost, or that they have no more. It signs in no longer; sessions that are open stay, and can
        be ended under Sessions.
      </p>
      <PasskeyField member={member} />
    </Action>
  );
};

export const RemoveMember = ({ member }: OfMember): JSX.Element => {
  const remove = (): Promise<undefined> => ask<undefined>(`/v1/members/${member.id}`, 'DELETE');
  if (member.status === 'invited')
    return (
      <Action
        word="Withdraw"
        icon="forbid"
        tone="danger"
        title={`Withdraw the invitation of ${member.name}?`}
        isSmall
        act={remove}
      >
        <p class="two">Its links stop working within a second.</p>
      </Action>
    );
  return (
    <Action word="Remove" icon="forbid" tone="danger" title={`Remove ${member.name}?`} isSmall act={remove}>
      <p class="two">Their sessions end within a second. What they did stays on record.</p>
    </Action>
  );
};

export const EndSession = ({ id, name }: { readonly id: string; readonly name: string }): JSX.Element => {
  const end = (): Promise<undefined> => ask<undefined>(`/v1/sessions/${id}`, 'DELETE');
  return (
    <Action word="End" icon="forbid" tone="plain" title={`End this session of ${name}?`} isSmall act={end}>
      <p class="two">The browser is signed out within a second.</p>
    </Action>
  );
};
