import type { Caller, CallingMember } from '../../domain/api-key/caller.ts';
import { allows, type Permission } from '../../domain/api-key/events.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { ROLES, type Role } from '../../domain/member/events.ts';
import { presenceRequired } from '../../domain/member/member.ts';
import { POWERS } from '../../domain/member/powers.ts';
import { isPresent } from '../../domain/member/session.ts';
import type { Contents, StoredBody, StoredHead } from '../../domain/ports/contents.ts';
import type { Logger, System } from '../../lib/async/async.ts';
import type { GuardedRoute } from '../route-rules.ts';
import type { KeyCache } from './key-cache.ts';

/**
 * Permissions of a caller, and the contents of mail that it sees. A route names the permission, the roles and the kinds of
 * principal that it requires (`route-table.ts`). `requirePermission` checks them, `requirePresence` asks members for a
 * recent proof of who they are, and `maskContents` hides contents of mail in answers.
 */

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export const isSafe = (method: string): boolean => SAFE_METHODS.has(method);

/** Whether addresses, subjects and bodies of mail are shown. */
export const seesContents = ({ member, auditor }: Caller): boolean =>
  member?.withoutContents !== true && auditor?.contents !== false;

/** Parameters whose matches would reveal masked values. */
const CONTENT_FILTERS = ['to', 'from', 'subject', 'address', 'metadata', 'q'];
/** Parameters that are a time range on some routes, where `from` is not a sender. */
const RANGE = ['from', 'to'];
/** Allowed although masked: this service creates `Message-ID`s, so matching one confirms no guess. */
const MADE_HERE = 'message_id';

const holdsAddress = (value: unknown): boolean => {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? '');
  return maskText(text) !== text;
};

/**
 * Masked values cannot be used as filters: a match would confirm a guess.
 * @param query parameters, or the fields of a filter.
 * @throws {DomainError} `permission_missing`.
 */
export const requireOpenFilters = (
  caller: Caller,
  { ranges, searches }: Pick<GuardedRoute, 'ranges' | 'searches'>,
  query: object,
): void => {
  if (searches === true || seesContents(caller)) return;
  const given = Object.entries(query).filter(([name]) => ranges !== true || !RANGE.includes(name));
  const [byContents] = given.find(([name]) => CONTENT_FILTERS.includes(name)) ?? [];
  if (byContents !== undefined)
    throw new DomainError(
      'permission_missing',
      `you cannot filter by ${byContents}, because you may not see mail contents`,
    );
  const [byAddress] = given.find(([name, value]) => name !== MADE_HERE && holdsAddress(value)) ?? [];
  if (byAddress !== undefined)
    throw new DomainError(
      'permission_missing',
      `you cannot search for an address (${byAddress}), because you may not see mail contents`,
    );
};

type Requirement = Pick<
  GuardedRoute,
  'permission' | 'roles' | 'environments' | 'auditors' | 'contents' | 'ownSession' | 'membersOnly' | 'operatorsOnly'
>;

/** Whether who holds these may use a route that requires this. */
export const holds = (permissions: readonly Permission[], required: GuardedRoute['permission']): boolean =>
  required === 'any' || allows(permissions, required);

/** True for a member with one of the roles that a route names, and for a caller with its permission where it names none. */
const admits = ({ member, permissions }: Caller, { permission, roles }: Requirement): boolean =>
  member !== undefined && roles !== undefined ? roles.includes(member.role) : holds(permissions, permission);

/** Roles whose members may do it. What an organization allows a role besides is not counted. */
export const rolesFor = ({ permission, roles, contents }: Requirement, method: string): readonly Role[] =>
  ROLES.filter((role) => {
    const { permissions, withoutContents, safeMethodsOnly } = POWERS[role];
    return (
      (roles?.includes(role) ?? holds(permissions, permission)) &&
      !(withoutContents && contents === true) &&
      !(safeMethodsOnly && !isSafe(method))
    );
  });

/** Named to a member who may not do something. More do not help, and make a long sentence. */
const OWNERS_NAMED_MAX = 3;

/** @param owners their names; empty: they are not known. */
const ownersInWords = (owners: readonly string[]): string => {
  const named = owners.slice(0, OWNERS_NAMED_MAX);
  const more = owners.length - named.length;
  if (more > 0) return `the owners ${named.join(', ')} and ${more} more`;
  const [first, ...others] = named;
  if (first === undefined) return 'an owner';
  const last = others.pop();
  return last === undefined ? `${first}, an owner,` : `the owners ${[first, ...others].join(', ')} and ${last}`;
};

interface PermissionGap {
  /** The missing permission, as a reason. */
  readonly why: string;
  /** Names of those who can help. */
  readonly owners: readonly string[];
  /** Owners can allow it to the role itself. */
  readonly isAllowable?: boolean;
}

const wrongRole = (
  role: Role,
  roles: readonly Role[],
  { why, owners, isAllowable = false }: PermissionGap,
): DomainError => {
  const others = roles.map((name) => `'${name}'`).join(' or ');
  const remedy = `can ${isAllowable ? 'allow this role to see them, or ' : ''}give you the role ${others}`;
  return new DomainError('permission_missing', `the role '${role}' ${why}: ${ownersInWords(owners)} ${remedy}`);
};

interface RoleCheck {
  readonly method: string;
  /** Names of the owners. */
  readonly owners: readonly string[];
}

/** Restrictions of a member's role that override their permissions. @throws {DomainError} `permission_missing`. */
const requireWithinRole = (
  { role, withoutContents, safeMethodsOnly }: CallingMember,
  required: Requirement,
  { method, owners }: RoleCheck,
): void => {
  const { contents, ownSession } = required;
  if (safeMethodsOnly && !isSafe(method) && ownSession !== true)
    throw wrongRole(role, rolesFor(required, method), { why: 'is read-only', owners });
  if (withoutContents && contents === true)
    throw wrongRole(role, rolesFor(required, method), { why: 'cannot see mail contents', owners, isAllowable: true });
};

/** Requires the kind of principal that a route allows. @throws {DomainError} `permission_missing`. */
const requireKind = ({ auditor, member }: Caller, required: Requirement): void => {
  const { auditors, contents, membersOnly, operatorsOnly } = required;
  if (auditor !== undefined && auditors !== true)
    throw new DomainError(
      'permission_missing',
      'the token of an auditor can only read the audit log and the resources that it is about',
    );
  if (auditor?.contents === false && contents === true)
    throw new DomainError('permission_missing', 'this auditor may not see mail contents');
  if (membersOnly === true && member === undefined)
    throw new DomainError('permission_missing', 'only members can do this: sign in to the dashboard');
  if (operatorsOnly === true && member?.isOperator !== true)
    throw new DomainError(
      'permission_missing',
      'only operators can do this: to make a member an operator, run `outbox members grant-operator`',
    );
};

/**
 * @param method of the request.
 * @param owners names of the owners, for members.
 * @throws {DomainError} `permission_missing`, `environment_not_allowed`.
 */
export const requirePermission = (
  caller: Caller,
  required: Requirement,
  method: string,
  owners: readonly string[] = [],
): void => {
  const { permission, environments } = required;
  requireKind(caller, required);
  if (caller.auditor !== undefined) return;
  if (!admits(caller, required)) {
    const why = `lacks '${permission}' permission`;
    if (caller.member !== undefined) throw wrongRole(caller.member.role, rolesFor(required, method), { why, owners });
    throw new DomainError('permission_missing', `API key ${why}`);
  }
  if (caller.member !== undefined) requireWithinRole(caller.member, required, { method, owners });
  if (!environments.includes(caller.environment)) {
    throw new DomainError('environment_not_allowed', 'a test key cannot do this: use a live key');
  }
};

/**
 * The domain whose data the caller may read; null: all domains. Keys with only `send` or `read` are confined to their
 * own, members and auditors to none.
 */
export const visibleDomainId = ({ permissions, member, auditor, domain }: Caller): string | null =>
  member !== undefined || auditor !== undefined || permissions.includes('manage') || permissions.includes('admin')
    ? null
    : domain.id;

/** Presence of members (step-up): what a browser that was left open must not allow needs a proof of who it is, not long ago. */

interface PresenceContext {
  readonly keyCache: Pick<KeyCache, 'isAdminKey'>;
  readonly system: Pick<System, 'now'>;
}

interface PresenceCall {
  readonly caller: Caller;
  /** Authenticates again, up to the log: another process may have just accepted the proof. */
  callerNow(): Promise<Caller>;
  /** `:id` of the path. */
  readonly id: string;
  /** Valid. */
  readonly body: unknown;
}

/** Whether it is about a key that holds `admin`, or is to. */
const isOfAdminKey = ({ keyCache }: Pick<PresenceContext, 'keyCache'>, { caller, id, body }: PresenceCall): boolean => {
  const { permissions } = body as { readonly permissions?: readonly string[] };
  return permissions?.includes('admin') === true || keyCache.isAdminKey(caller.organizationId, id);
};

type CallerAccess = Pick<PresenceCall, 'caller' | 'callerNow'>;

/** @throws {DomainError} `presence_required`. */
const requirePresent = async (
  { system }: Pick<PresenceContext, 'system'>,
  { caller, callerNow }: CallerAccess,
  isAllowed: (member: CallingMember) => boolean = (member) => isPresent(member, system.now()),
): Promise<void> => {
  if (caller.member !== undefined && isAllowed(caller.member)) return;
  const { member } = await callerNow();
  if (member === undefined || !isAllowed(member)) throw presenceRequired();
};

/** The first passkey is the way to show presence: those who got in by a link of the operator may add it for an hour. */
const mayAddFirstPasskey = (
  { system }: Pick<PresenceContext, 'system'>,
  { firstPasskeyUntil }: Pick<CallingMember, 'firstPasskeyUntil'>,
): boolean => firstPasskeyUntil !== undefined && system.now().toISOString() < firstPasskeyUntil;

/** @throws {DomainError} `presence_required`. */
export const requirePresence = async (
  auth: PresenceContext,
  { presence }: Pick<GuardedRoute, 'presence'>,
  asked: PresenceCall,
): Promise<void> => {
  if (presence === undefined || asked.caller.member === undefined) return;
  if (presence === 'ofAdminKeys' && !isOfAdminKey(auth, asked)) return;
  const isAllowed = (member: CallingMember): boolean =>
    isPresent(member, auth.system.now()) || (presence === 'unlessFirst' && mayAddFirstPasskey(auth, member));
  await requirePresent(auth, asked, isAllowed);
};

/** For what would let its reader become another member. @throws {DomainError} `permission_missing`, `presence_required`. */
export const requireOwnerPresence = async (
  auth: Pick<PresenceContext, 'system'>,
  asking: CallerAccess,
): Promise<void> => {
  if (asking.caller.member?.role !== 'owner')
    throw new DomainError('permission_missing', 'this mail contains a sign-in link: only an owner can read it');
  await requirePresent(auth, asking);
};

/** Names of owners, for the sentence that says who can give a member what their role lacks. They are in the vault. */

interface Parts {
  readonly keyCache: Pick<KeyCache, 'members'>;
  readonly contents: Pick<Contents, 'get'>;
  readonly logger: Logger;
}

const nameIn = (body: StoredBody | undefined): readonly string[] =>
  body?.kind === 'contact' && body.member !== undefined ? [body.member.name] : [];

/** Names of owners who have signed in, earliest first. Empty if the vault is down: the refusal is sent without names. */
export const createOwnersOf =
  ({ keyCache, contents, logger }: Parts) =>
  async (organizationId: string): Promise<readonly string[]> => {
    const members = Object.values(keyCache.members().get(organizationId)?.members ?? {});
    const ids = members.flatMap(({ role, status, contactId }) =>
      role === 'owner' && status === 'joined' ? [contactId] : [],
    );
    if (ids.length === 0) return [];
    const bodies = await contents.get(ids).catch((error: unknown) => {
      logger.warn({ err: error }, 'cannot read the names of owners');
      return new Map<string, StoredBody>();
    });
    return ids.flatMap((id) => nameIn(bodies.get(id)));
  };

/**
 * Masks responses for members who may not see contents of mail. Addresses keep their domain. Texts written by people or
 * other servers are withheld entirely, because they may identify a mailbox without an address: subjects, bodies, metadata,
 * texts of SMTP replies, evidence of suppressions, bodies and responses of webhooks, problems with a request. A reply
 * keeps its code, its enhanced status and its category. One pass masks the whole response, so that no route can forget it.
 */

const MASK = '***';

/** Fields that hold what people or other servers wrote. */
const WRITTEN: ReadonlySet<string> = new Set([
  ...['subject', 'filename', 'content_id', 'body', 'metadata', 'evidence', 'response'],
  ...['reply', 'sanitized_html'],
]);

/** The name of a mailbox, beside its address. Resources have names of their own. */
const isName = (name: string, of: object): boolean => name === 'name' && 'address' in of && !('object' in of);

/** True for the target of a link in mail. URLs of resources are not masked. */
const isLink = (name: string, of: object): boolean => name === 'url' && !('object' in of);

/** Fields masked in objects with a `code`: texts of mail servers, and problems that contain field names of the request. */
const BESIDE_CODE: ReadonlySet<string> = new Set(['text', 'problems']);
const isAboutCode = (name: string, of: object): boolean => BESIDE_CODE.has(name) && 'code' in of;

const isWritten = (name: string, of: object): boolean =>
  WRITTEN.has(name) || isName(name, of) || isLink(name, of) || isAboutCode(name, of);

/** Characters that end an unquoted local part, read backwards (RFC 5322 §3.2.3, and punctuation around addresses). */
const DELIMITERS: ReadonlySet<string> = new Set(' \t\r\n<>()[],;:"\\');

/** Start of the local part at the end of a text, found in linear time. */
const localPartAt = (text: string): number => {
  let start = text.length;
  if (!text.endsWith('"')) {
    while (start > 0 && !DELIMITERS.has(text.charAt(start - 1))) start -= 1;
    return start;
  }
  do start = text.lastIndexOf('"', start - 2) + 1;
  while (start > 1 && text.charAt(start - 2) === '\\');
  return Math.max(0, start - 1);
};

/** Between the parts of an address: full width too, and as URLs have it, encoded once or more often. */
const AT = /(@|＠|%(?:25)*40)/iu;

/** Addresses as sentences and tags quote them, whatever alphabet they are written in. */
export const maskText = (text: string): string => {
  const parts = text.split(AT);
  // Each part at an even place but the last ends with a local part.
  return parts
    .map((part, index) =>
      index % 2 === 0 && index < parts.length - 1 ? part.slice(0, localPartAt(part)) + MASK : part,
    )
    .join('');
};

const maskWritten = (value: unknown): unknown => {
  if (typeof value === 'string') return value === '' ? '' : MASK;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return {};
  return Array.isArray(value) ? [] : value;
};

const maskField = (name: string, value: unknown, of: object): unknown =>
  isWritten(name, of) ? maskWritten(value) : maskContents(value);

/** @throws {Error} a stream or a file: a route whose answer cannot be masked has to say so, see `GuardedRoute`. */
const requireJson = (value: object): void => {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw new Error('an answer that is no JSON cannot be masked');
};

/** @param value JSON. */
export const maskContents = (value: unknown): unknown => {
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map(maskContents);
  if (typeof value !== 'object' || value === null) return value;
  requireJson(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [maskText(name), maskField(name, field, value)]),
  );
};

/** A link keeps its host: what follows may be a secret of the recipient. */
const maskLink = (url: string): string => {
  const parsed = URL.parse(url);
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? `${parsed.origin}/${MASK}` : MASK;
};

const maskQuoted = (body: StoredHead): StoredHead => {
  if (body.kind === 'reply') return { ...body, text: MASK };
  return body.kind === 'link' ? { ...body, url: maskLink(body.url) } : body;
};

/** Contents that sentences quote, as they may be quoted: of what `maskContents` cannot find again in a sentence, a mask. */
export const maskQuotes = (contents: ReadonlyMap<string, StoredHead>): ReadonlyMap<string, StoredHead> =>
  new Map([...contents].map(([id, body]) => [id, maskQuoted(body)]));
