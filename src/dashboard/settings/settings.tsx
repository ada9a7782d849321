import type { JSX } from 'preact';
import type { List } from '../../http/fields.ts';
import type { MemberSession, SerializedLink, SerializedMember } from '../../http/resources/members/members.ts';
import type { SerializedPasskey } from '../../http/resources/members/passkeys.ts';
import type { SerializedOrganization } from '../../http/resources/organization.ts';
import { Action, type Outcome, shownOnce } from '../components/action.tsx';
import { CopyButton, CopyField, Fact, Facts } from '../components/facts.tsx';
import { ApiButton } from '../components/screen.tsx';
import { Empty, Fault, Skeleton } from '../components/states.tsx';
import { useMay } from '../data/access.ts';
import { request } from '../data/api.ts';
import { environmentOfOrganization, session } from '../data/credentials.ts';
import { currentEnvironment } from '../data/location.ts';
import { removeResource, useRead } from '../data/queries.ts';
import { useStore } from '../data/store.ts';
import { ago, duration, useTimes } from '../data/time.ts';
import { Passkeys } from '../sign-in/presence.tsx';
import { SwitchOrganization } from '../sign-in/provider.tsx';
import { AllowContents, acceptedHtml, ChangeOrganization, contentsReaders, INBOUND_DMARC } from './organization.tsx';

/** Actions of owners on members. */

const ROLES = {
  owner: 'full access, including members and billing',
  developer: 'sends and reads mail, manages keys, domains, templates and webhooks',
  analyst: 'read-only, without addresses, subjects and bodies',
  auditor: 'read-only access to everything except message contents',
} as const;

const environment = () => environmentOfOrganization(currentEnvironment());

const ask = <T,>(path: string, method: 'POST' | 'PATCH' | 'DELETE', body?: unknown): Promise<T> =>
  request<T>(path, { method, environment: environment(), body });

const Link = ({ link, name }: { readonly link: SerializedLink; readonly name: string }): JSX.Element => {
  const times = useTimes();
  return (
    <>
      <h2>
        Sign-in link for <bdi>{name}</bdi>
      </h2>
      <div class="secret cp">
        <code>{link.url}</code>
        <CopyButton text={link.url} label="Copy the link" />
      </div>
      <p class="muted">
        {link.mailed && 'It was also sent by mail. '}
        Copy it now: it cannot be shown again. It works once, until {times.short(link.expires_at)}.
      </p>
    </>
  );
};

const linkOnce = (link: SerializedLink, name: string): Outcome => shownOnce(<Link link={link} name={name} />);

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
    return linkOnce(made.link, made.name);
  };
  return (
    <Action word="Invite" operation="POST /v1/members" icon="plus" tone="primary" title="Invite a member" act={invite}>
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
    <Action
      word="Change role"
      opener="Role"
      operation="PATCH /v1/members/:id"
      icon="person"
      tone="plain"
      title={`Change the role of ${member.name}?`}
      isSmall
      act={change}
    >
      <p class="two">The change applies to open sessions within a second.</p>
      <RoleField chosen={member.role} />
    </Action>
  );
};

export const MakeLink = ({ member }: OfMember): JSX.Element => {
  const make = async (): Promise<Outcome> =>
    linkOnce(await ask<SerializedLink>(`/v1/members/${member.id}/links`, 'POST', {}), member.name);
  if (member.status === 'invited')
    return (
      <Action
        word="Renew"
        operation="POST /v1/members/:id/links"
        icon="link"
        tone="plain"
        title={`Renew the invitation of ${member.name}?`}
        isSmall
        act={make}
      >
        <p class="two">Creates a new link that works for 7 days. Earlier links keep working until they expire.</p>
      </Action>
    );
  return (
    <Action
      word="Create link"
      opener="Link"
      operation="POST /v1/members/:id/links"
      icon="link"
      tone="plain"
      title={`Create a link for ${member.name}?`}
      isSmall
      act={make}
    >
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
      operation="DELETE /v1/members/:id/passkeys/:passkey"
      icon="key"
      tone="danger"
      title={`Remove a passkey of ${member.name}?`}
      typed={member.name}
      isSmall
      act={remove}
    >
      <p class="two">
        Remove the passkey of a lost or replaced device. It can no longer be used to sign in. Open sessions continue:
        you can end them under Sessions.
      </p>
      <PasskeyField member={member} />
    </Action>
  );
};

export const RemoveMember = ({ member }: OfMember): JSX.Element => {
  const remove = async (): Promise<undefined> => {
    await removeResource(`/v1/members/${member.id}`, { environment: environment() });
  };
  if (member.status === 'invited')
    return (
      <Action
        word="Withdraw"
        operation="DELETE /v1/members/:id"
        icon="forbid"
        tone="danger"
        title={`Withdraw the invitation of ${member.name}?`}
        typed={member.name}
        isSmall
        act={remove}
      >
        <p class="two">Its links stop working within a second.</p>
      </Action>
    );
  return (
    <Action
      word="Remove"
      operation="DELETE /v1/members/:id"
      icon="forbid"
      tone="danger"
      title={`Remove ${member.name}?`}
      typed={member.name}
      isSmall
      act={remove}
    >
      <p class="two">Their sessions end within a second. Their actions stay in the audit log.</p>
    </Action>
  );
};

export const EndSession = ({ id, name }: { readonly id: string; readonly name: string }): JSX.Element => {
  const end = (): Promise<undefined> => ask<undefined>(`/v1/sessions/${id}`, 'DELETE');
  return (
    <Action
      word="End session"
      opener="End"
      operation="DELETE /v1/sessions/:id"
      icon="forbid"
      tone="plain"
      title={`End this session of ${name}?`}
      isSmall
      act={end}
    >
      <p class="two">The browser is signed out within a second.</p>
    </Action>
  );
};

/** Settings of the organization, its members and their sessions. */

const useOfOrganization = <T,>(path: string) =>
  useRead([path], (signal) =>
    request<T>(path, { signal, environment: environmentOfOrganization(currentEnvironment()) }),
  );

/** The data, or the reason why it could not be loaded. */
const ReadResult = <T,>({
  read,
  show,
}: {
  readonly read: ReturnType<typeof useRead<T>>;
  show(data: T): JSX.Element;
}) => {
  if (read.data !== undefined) return show(read.data);
  if (read.error !== null) return <Fault error={read.error} retry={() => void read.refetch()} />;
  return <Skeleton rows={3} />;
};

const Organization = ({ organization }: { readonly organization: SerializedOrganization }): JSX.Element => {
  const times = useTimes();
  return (
    <div class="card settings">
      <Facts>
        <Fact name="Name">
          <bdi>{organization.name}</bdi>
        </Fact>
        <Fact name="Id">
          <CopyField text={organization.id} name="the id" />
        </Fact>
        <Fact name="Contact">{organization.contact ?? 'none'}</Fact>
        <Fact name="Content retention">{organization.content_retention_days} days</Fact>
        <Fact name="Contents visible to">{contentsReaders(organization)}</Fact>
        <Fact name="Sessions end">
          after {duration(organization.session_idle_minutes * 60_000)} of inactivity, or after{' '}
          {duration(organization.session_hours * 3_600_000)} at most
        </Fact>
        <Fact name="Accepted HTML">{acceptedHtml(organization)}</Fact>
        <Fact name="Inbound mail that fails DMARC">Is {INBOUND_DMARC[organization.inbound_dmarc]}</Fact>
        <Fact name="Time zone">{organization.timezone}</Fact>
        <Fact name="Created">{times.short(organization.created_at)}</Fact>
      </Facts>
      <div class="below">
        <ChangeOrganization organization={organization} />
        <AllowContents organization={organization} />
      </div>
    </div>
  );
};

/** When the member joined, or how long the invitation is valid. */
const useStanding = ({ joined_at: joinedAt, invitation_expires_at: expiresAt }: SerializedMember): string => {
  const times = useTimes();
  if (joinedAt !== null) return `joined ${ago(joinedAt)}`;
  return expiresAt === null ? 'invitation expired' : `invited, until ${times.short(expiresAt)}`;
};

const Member = ({ member }: OfMember): JSX.Element => {
  const standing = useStanding(member);
  return (
    <div class="kr">
      <span class="kn">
        <bdi class="ell b">{member.name}</bdi>
        <small class="muted ell">
          {member.email ?? 'no address'}, {standing}
        </small>
      </span>
      <span class="tag">{member.role}</span>
      <span class="acts">
        <ChangeRole member={member} />
        <MakeLink member={member} />
        <MemberPasskeys member={member} />
        <RemoveMember member={member} />
      </span>
    </div>
  );
};

const Session = ({ open }: { readonly open: MemberSession }): JSX.Element => {
  const times = useTimes();
  return (
    <div class="kr">
      <span class="kn">
        <bdi class="ell b">{open.member_name}</bdi>
        <small class="muted ell">
          {open.browser ?? 'Unknown browser'}, {open.last_address ?? 'address unknown'}, since{' '}
          {times.short(open.started_at)}
        </small>
      </span>
      <span class="tag">{open.is_current ? 'this browser' : `used ${ago(open.last_used_at)}`}</span>
      <span class="acts">
        <EndSession id={open.id} name={open.member_name} />
      </span>
    </div>
  );
};

const rows = <Row extends { readonly id: string }>(
  label: string,
  { data }: List<Row>,
  render: (row: Row) => JSX.Element,
  empty: JSX.Element,
): JSX.Element =>
  data.length === 0 ? (
    empty
  ) : (
    <ul class="list keys people" aria-label={label}>
      {data.map((row) => (
        <li key={row.id}>{render(row)}</li>
      ))}
    </ul>
  );

const REQUESTS = ['/v1/organization', '/v1/members', '/v1/sessions'];

/** Everything that an owner manages: settings, members and their sessions. */
const Managed = (): JSX.Element => {
  const organization = useOfOrganization<SerializedOrganization>('/v1/organization');
  const members = useOfOrganization<List<SerializedMember>>('/v1/members');
  const sessions = useOfOrganization<List<MemberSession>>('/v1/sessions');
  const own = useStore(session);
  return (
    <>
      <ReadResult read={organization} show={(found) => <Organization organization={found} />} />
      {own && <Personal />}
      <h2 class="over">Members</h2>
      <ReadResult
        read={members}
        show={(found) =>
          rows(
            'Members',
            found,
            (member) => <Member member={member} />,
            <Empty icon="person" title="No members">
              Members sign in with a personal link. Invite the first one as an owner.
            </Empty>,
          )
        }
      />
      <h2 class="over">Sessions</h2>
      <ReadResult
        read={sessions}
        show={(found) =>
          rows(
            'Sessions',
            found,
            (open) => <Session open={open} />,
            <Empty icon="person" title="No sessions">
              Signing in with an API key creates no session.
            </Empty>,
          )
        }
      />
    </>
  );
};

/** The member's own organizations and passkeys. */
const Personal = (): JSX.Element => (
  <>
    <div class="below">
      <SwitchOrganization />
    </div>
    <Passkeys />
  </>
);

export const Settings = (): JSX.Element => {
  const own = useStore(session);
  const isManaged = useMay('GET /v1/organization');
  return (
    <>
      <div class="head">
        <div>
          <h1>Settings</h1>
          <p class="sub">
            {isManaged
              ? 'Your organization, its members and their sessions.'
              : 'How you sign in. Owners manage the organization and its members.'}
          </p>
        </div>
        <div class="acts">
          <ApiButton requests={own ? [...REQUESTS, '/v1/passkeys'] : REQUESTS} />
          <InviteMember />
        </div>
      </div>
      {isManaged ? <Managed /> : <Personal />}
    </>
  );
};
