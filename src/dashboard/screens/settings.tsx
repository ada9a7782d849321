import type { JSX } from 'preact';
import type { List } from '../../http/schemas/envelope.ts';
import type { MemberSession, SerializedMember } from '../../http/schemas/member.ts';
import type { SerializedOrganization } from '../../http/schemas/organization.ts';
import { request } from '../data/api.ts';
import { environmentOfOrganization, session } from '../data/credentials.ts';
import { currentEnvironment } from '../data/location.ts';
import { useRead } from '../data/queries.ts';
import { useStore } from '../data/store.ts';
import { ago, duration, useTimes } from '../data/time.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { CopyField, Fact, Facts } from '../parts/facts.tsx';
import { ChangeRole, EndSession, InviteMember, MakeLink, MemberPasskeys, RemoveMember } from '../parts/members.tsx';
import { AllowContents, acceptedHtml, ChangeOrganization, contentsReaders } from '../parts/organization-settings.tsx';
import { Passkeys } from '../parts/passkeys.tsx';
import { SwitchOrganization } from '../parts/sign-in-provider.tsx';
import { Empty, Fault, Skeleton } from '../parts/states.tsx';

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

const Organization = ({
  organization,
  mayChange,
  mayAllow,
}: {
  readonly organization: SerializedOrganization;
  readonly mayChange: boolean;
  readonly mayAllow: boolean;
}): JSX.Element => {
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
        <Fact name="Contents of mail are kept">{organization.content_retention_days} days</Fact>
        <Fact name="They are seen by">{contentsReaders(organization)}</Fact>
        <Fact name="Sessions end">
          after {duration(organization.session_idle_minutes * 60_000)} without use, after{' '}
          {duration(organization.session_hours * 3_600_000)} at most
        </Fact>
        <Fact name="Accepted html">{acceptedHtml(organization)}</Fact>
        <Fact name="Time zone">{organization.timezone}</Fact>
        <Fact name="Since">{times.short(organization.created_at)}</Fact>
      </Facts>
      {mayChange && (
        <div class="below">
          <ChangeOrganization organization={organization} />
          {mayAllow && <AllowContents organization={organization} />}
        </div>
      )}
    </div>
  );
};

/** When the member joined, or how long the invitation is valid. */
const useStanding = ({ joined_at: joinedAt, invitation_expires_at: expiresAt }: SerializedMember): string => {
  const times = useTimes();
  if (joinedAt !== null) return `joined ${ago(joinedAt)}`;
  return expiresAt === null ? 'invitation expired' : `invited, until ${times.short(expiresAt)}`;
};

const Member = ({
  member,
  mayChange,
}: {
  readonly member: SerializedMember;
  readonly mayChange: boolean;
}): JSX.Element => {
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
      {mayChange && (
        <span class="acts">
          <ChangeRole member={member} />
          <MakeLink member={member} />
          <MemberPasskeys member={member} />
          <RemoveMember member={member} />
        </span>
      )}
    </div>
  );
};

const Session = ({ open, mayChange }: { readonly open: MemberSession; readonly mayChange: boolean }): JSX.Element => {
  const times = useTimes();
  return (
    <div class="kr">
      <span class="kn">
        <bdi class="ell b">{open.member_name}</bdi>
        <small class="muted ell">
          {open.last_address ?? 'address unknown'}, since {times.short(open.started_at)}
        </small>
      </span>
      <span class="tag">{open.is_current ? 'this browser' : `used ${ago(open.last_used_at)}`}</span>
      {mayChange && (
        <span class="acts">
          <EndSession id={open.id} name={open.member_name} />
        </span>
      )}
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

export const Settings = (): JSX.Element => {
  const organization = useOfOrganization<SerializedOrganization>('/v1/organization');
  const members = useOfOrganization<List<SerializedMember>>('/v1/members');
  const sessions = useOfOrganization<List<MemberSession>>('/v1/sessions');
  const own = useStore(session);
  const mayChange = own?.changes !== false;
  return (
    <>
      <div class="head">
        <div>
          <h1>Settings</h1>
          <p class="sub">The organization, who may sign in, and where they are signed in.</p>
        </div>
        <div class="acts">
          <ApiButton requests={own ? [...REQUESTS, '/v1/passkeys'] : REQUESTS} />
          {mayChange && members.data !== undefined && <InviteMember />}
        </div>
      </div>
      <ReadResult
        read={organization}
        show={(found) => (
          <Organization organization={found} mayChange={mayChange} mayAllow={own?.member?.role === 'owner'} />
        )}
      />
      {own && <SwitchOrganization />}
      {own && <Passkeys />}
      <h2 class="over">Members</h2>
      <ReadResult
        read={members}
        show={(found) =>
          rows(
            'Members',
            found,
            (member) => <Member member={member} mayChange={mayChange} />,
            <Empty icon="person" title="No members">
              People sign in with a link of their own. Invite the first one as an owner.
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
            (open) => <Session open={open} mayChange={mayChange} />,
            <Empty icon="person" title="No sessions">
              Signing in with an API key creates no session.
            </Empty>,
          )
        }
      />
    </>
  );
};
