import { allows, type Permission } from '../../domain/api-key/events.ts';
import type { Caller, CallingMember } from '../../domain/api-key/key-authority.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { ROLES, type Role } from '../../domain/member/events.ts';
import { POWERS } from '../../domain/member/member.ts';
import type { GuardedRoute } from '../route-rules.ts';
import { maskText } from '../serialize/mask-contents.ts';
import { isSafe } from './presented.ts';

/** Checks of what a principal may do and see. */

/** Whether addresses, subjects and bodies of mail are shown. */
export const seesContents = ({ member, auditor }: Caller): boolean =>
  member?.withoutContents !== true && auditor?.contents !== false;

/** Parameters whose matches would reveal masked values. */
const CONTENT_FILTERS = ['to', 'from', 'subject', 'address', 'metadata', 'q'];
/** Parameters that are a time range on some routes, where `from` is not a sender. */
const RANGE = ['from', 'to'];
/** Allowed although masked: this service creates `Message-ID`s, so matching one confirms no guess. */
const MADE_HERE = 'message_id';

const holdsAddress = (value: unknown): boolean =>
  [value].flat().some((one) => typeof one === 'string' && maskText(one) !== one);

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
    throw new DomainError('permission_missing', `who sees no contents of mail cannot filter by ${byContents}`);
  const [byAddress] = given.find(([name, value]) => name !== MADE_HERE && holdsAddress(value)) ?? [];
  if (byAddress !== undefined)
    throw new DomainError(
      'permission_missing',
      `who sees no contents of mail cannot look for an address: ${byAddress} holds one`,
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
const rolesFor = ({ permission, roles, contents }: Requirement, method: string): readonly Role[] =>
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
  const remedy = `can ${isAllowable ? 'allow it to this role, or ' : ''}give you the role ${others}`;
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
    throw wrongRole(role, rolesFor(required, method), { why: 'reads alone', owners });
  if (withoutContents && contents === true)
    throw wrongRole(role, rolesFor(required, method), { why: 'sees no contents of mail', owners, isAllowable: true });
};

/** Requires the kind of principal that a route allows. @throws {DomainError} `permission_missing`. */
const requireKind = ({ auditor, member }: Caller, required: Requirement): void => {
  const { auditors, contents, membersOnly, operatorsOnly } = required;
  if (auditor !== undefined && auditors !== true)
    throw new DomainError('permission_missing', 'the token of an auditor reads the audit endpoints alone');
  if (auditor?.contents === false && contents === true)
    throw new DomainError('permission_missing', 'contents are not disclosed to this auditor');
  if (membersOnly === true && member === undefined)
    throw new DomainError('permission_missing', 'members alone can do this: sign in to the dashboard');
  if (operatorsOnly === true && member?.isOperator !== true)
    throw new DomainError(
      'permission_missing',
      'operators alone can do this: `npm run outbox -- members grant-operator` makes a member one',
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
