import { canonicalJson, parseCheckpoint, parseNote } from '../../lib/transparency/transparency.ts';
import { type ChosenPlan, choosePlan, type Plans } from '../billing/plan.ts';
import type { Aggregate } from '../kernel/aggregate.ts';
import { DomainError } from '../kernel/errors.ts';
import { dayOf } from '../kernel/event.ts';
import type { RecordedEvent, Revision } from '../kernel/event-store.ts';
import type { OrganizationEvent } from '../kernel/events.ts';
import type { RateLimits } from '../kernel/rate-limits.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import { MASKED_ROLES, type MaskedRole } from '../member/events.ts';
import {
  type HtmlEntry,
  type HtmlRule,
  type OrganizationSettings,
  SESSION_HOURS,
  SESSION_IDLE_MINUTES,
} from './events.ts';

export type ActiveOrganization = Extract<Organization, { readonly status: 'active' }>;

/** Default settings of an organization. */
export const DEFAULT_SETTINGS = {
  contactId: null,
  contentDays: 30,
  analysis: 'off',
  // The specification requires valid HTML from the API. Other services and mail servers accept any.
  htmlValidation: { api: 'strict', compat: 'browser', smtp: 'browser' },
  inboundDmarc: 'mark',
  timezone: 'UTC',
  sessionIdleMinutes: SESSION_IDLE_MINUTES.max,
  sessionHours: SESSION_HOURS.max,
  customer: null,
} as const satisfies Partial<OrganizationSettings>;

export type Organization =
  | { readonly status: 'absent' }
  | {
      readonly status: 'active';
      readonly organizationId: string;
      readonly settings: OrganizationSettings;
      readonly ceilings: RateLimits | null;
      readonly createdAt: string;
      /** Start of the legal hold; otherwise null. */
      readonly heldSince: string | null;
      /** Null if the organization may send. */
      readonly suspension: Suspension | null;
      /** Masked roles whose members can see contents of mail. */
      readonly contentsRoles: readonly MaskedRole[];
      /** Plans that the organization chose, oldest first. */
      readonly chosenPlans: readonly ChosenPlan[];
      /** Admin keys that removals must not rely on, by id, each up to and including a revision. */
      readonly releasedKeys: Readonly<Record<string, Revision>>;
      /** Domains whose keys removals must not rely on, in the same way. */
      readonly releasedDomains: Readonly<Record<string, Revision>>;
    };

/** The operator's suspension of an organization's sending. */
export interface Suspension {
  /** ISO 8601. */
  readonly since: string;
  /** Reason given by the operator. The organization can read it. */
  readonly reason: string;
}

type Revisions = Readonly<Record<string, Revision>>;

/**
 * Keeps the highest revision at which each was released. Of two concurrent releases, the later may have read an older
 * one.
 */
const raised = (
  known: Revisions,
  released: readonly { readonly id: string; readonly revision: Revision }[],
): Revisions => ({
  ...known,
  ...Object.fromEntries(released.map(({ id, revision }) => [id, Math.max(revision, known[id] ?? 0)])),
});

export const organization: Aggregate<Organization, OrganizationEvent> = {
  category: CATEGORIES.organization,
  initial: { status: 'absent' },
  evolve: (state, event, context) => {
    if (event.type === 'OrganizationCreated') {
      const { name, ...data } = event.data;
      return {
        status: 'active',
        ...data,
        settings: { ...DEFAULT_SETTINGS, name },
        createdAt: context.occurredAt,
        heldSince: null,
        suspension: null,
        contentsRoles: [],
        chosenPlans: [],
        releasedKeys: {},
        releasedDomains: {},
      };
    }
    if (state.status === 'absent') return state;
    switch (event.type) {
      case 'OrganizationCeilingsSet':
        return { ...state, ceilings: event.data.ceilings };
      case 'OrganizationUpdated': {
        const { organizationId: _, ...changes } = event.data;
        const said = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
        return { ...state, settings: { ...state.settings, ...said } };
      }
      case 'LegalHoldSet':
        return { ...state, heldSince: event.data.active ? context.occurredAt : null };
      case 'OrganizationSuspended':
        return {
          ...state,
          suspension: { since: state.suspension?.since ?? context.occurredAt, reason: event.data.reason },
        };
      case 'OrganizationResumed':
        return { ...state, suspension: null };
      case 'ContentsRolesSet':
        return { ...state, contentsRoles: event.data.roles };
      case 'PlanChosen': {
        const { plan, from = dayOf(context.occurredAt) } = event.data;
        return { ...state, chosenPlans: [...state.chosenPlans, { plan, from }] };
      }
      case 'AdminKeysReleased': {
        const { keys, domain } = event.data;
        const domains = domain === null ? [] : [{ id: domain.domainId, revision: domain.revision }];
        return {
          ...state,
          releasedKeys: raised(
            state.releasedKeys,
            keys.map(({ keyId: id, revision }) => ({ id, revision })),
          ),
          releasedDomains: raised(state.releasedDomains, domains),
        };
      }
      default:
        return event satisfies never;
    }
  },
};

interface CreateOrganization {
  readonly organizationId: string;
  readonly name: string;
  readonly ceilings: RateLimits | null;
}

export const createOrganization = (state: Organization, command: CreateOrganization): readonly OrganizationEvent[] => {
  if (state.status !== 'absent') throw new DomainError('resource_conflict', 'organization exists already');
  return [{ type: 'OrganizationCreated', data: { ...command } }];
};

/** @throws {DomainError} `not_found`. */
export const requireOrganization = (state: Organization): ActiveOrganization => {
  if (state.status === 'absent') throw new DomainError('not_found', 'organization not found');
  return state;
};

/**
 * Sets the highest limits that the organization's keys may have; null: none. The same value is no change.
 * @throws {DomainError} `not_found`.
 */
export const setCeilings = (state: Organization, ceilings: RateLimits | null): readonly OrganizationEvent[] => {
  const { organizationId, ceilings: before } = requireOrganization(state);
  if (canonicalJson(ceilings) === canonicalJson(before)) return [];
  return [{ type: 'OrganizationCeilingsSet', data: { organizationId, ceilings } }];
};

/** Setting changes. Undefined fields are unchanged. */
export type SettingChanges = {
  readonly [Field in Exclude<keyof OrganizationSettings, 'htmlValidation'>]: OrganizationSettings[Field] | undefined;
} & {
  /** An undefined entry keeps its rule. */
  readonly htmlValidation: { readonly [Entry in HtmlEntry]?: HtmlRule | undefined } | undefined;
};

const htmlValidationOf = (
  { htmlValidation: before }: OrganizationSettings,
  { htmlValidation: changes }: SettingChanges,
): OrganizationSettings['htmlValidation'] => ({
  api: changes?.api ?? before.api,
  compat: changes?.compat ?? before.compat,
  smtp: changes?.smtp ?? before.smtp,
});

/** Changes settings. Equal values are no change. @throws {DomainError} `not_found`. */
export const updateOrganization = (state: Organization, changes: SettingChanges): readonly OrganizationEvent[] => {
  const { organizationId, settings } = requireOrganization(state);
  const wanted = { ...changes, htmlValidation: htmlValidationOf(settings, changes) };
  const different = Object.entries(wanted).filter(
    ([field, value]) =>
      value !== undefined && canonicalJson(value) !== canonicalJson(settings[field as keyof OrganizationSettings]),
  );
  if (different.length === 0) return [];
  return [{ type: 'OrganizationUpdated', data: { organizationId, ...Object.fromEntries(different) } }];
};

/** Starts or ends a legal hold. The same state is no change. @throws {DomainError} `not_found`. */
export const setLegalHold = (state: Organization, active: boolean): readonly OrganizationEvent[] => {
  const { organizationId, heldSince } = requireOrganization(state);
  return active === (heldSince !== null) ? [] : [{ type: 'LegalHoldSet', data: { organizationId, active } }];
};

/**
 * Suspends sending. Another reason replaces the previous one; the same reason is no change.
 * @throws {DomainError} `not_found`.
 */
export const suspendOrganization = (state: Organization, reason: string): readonly OrganizationEvent[] => {
  const { organizationId, suspension } = requireOrganization(state);
  return suspension?.reason === reason ? [] : [{ type: 'OrganizationSuspended', data: { organizationId, reason } }];
};

/** Resumes sending. No change if it is not suspended. @throws {DomainError} `not_found`. */
export const resumeOrganization = (state: Organization, reason: string): readonly OrganizationEvent[] => {
  const { organizationId, suspension } = requireOrganization(state);
  return suspension === null ? [] : [{ type: 'OrganizationResumed', data: { organizationId, reason } }];
};

/** Returns null if the organization may send or does not exist. */
export const suspensionOf = (state: Organization | undefined): Suspension | null =>
  state?.status === 'active' ? state.suspension : null;

/** @throws {DomainError} `organization_suspended`. */
export const requireUnsuspended = (suspension: Suspension | undefined): void => {
  if (suspension === undefined) return;
  throw new DomainError(
    'organization_suspended',
    `the operator of this service has suspended your organization, and only they can resume it: ${suspension.reason}`,
  );
};

/**
 * Sets which masked roles can see contents of mail. The same roles are no change.
 * @throws {DomainError} `not_found`.
 */
export const setContentsRoles = (state: Organization, wanted: readonly MaskedRole[]): readonly OrganizationEvent[] => {
  const { organizationId, contentsRoles } = requireOrganization(state);
  const roles = MASKED_ROLES.filter((role) => wanted.includes(role));
  if (canonicalJson(roles) === canonicalJson(contentsRoles)) return [];
  return [{ type: 'ContentsRolesSet', data: { organizationId, roles } }];
};

/**
 * Chooses a plan. The same plan with the same terms is no change.
 * @throws {DomainError} `not_found`, and those of `choosePlan`.
 */
export const changePlan = (
  state: Organization,
  choice: {
    readonly plans: Plans;
    readonly planId: string;
    readonly now: string;
    readonly byOperator?: boolean | undefined;
  },
): readonly OrganizationEvent[] => {
  const { organizationId, chosenPlans, createdAt } = requireOrganization(state);
  const chosen = choosePlan({ chosenPlans, createdAt, ...choice });
  return chosen === null ? [] : [{ type: 'PlanChosen', data: { organizationId, ...chosen } }];
};

/** Mail to an organization's contact about something that needs a person. An event produces one notice at most. */
export interface Notice {
  readonly subject: string;
  /** Lines of plain text. */
  readonly text: string;
  /** HTML version. Absent: the text is used. */
  readonly html?: string;
}

const WHY = {
  gone: 'It answered 410 (Gone).',
  failing: 'It accepted nothing for 5 days.',
} as const;

/** The notice about an event, or null if the contact is not notified. */
export const noticeOf = (event: RecordedEvent): Notice | null => {
  switch (event.type) {
    case 'WebhookDisabled': {
      const { webhookId, reason } = event.data;
      if (reason === 'requested') return null;
      return {
        subject: `Webhook ${webhookId} was disabled`,
        text: [
          `The webhook ${webhookId} was disabled at ${event.metadata.occurredAt}. ${WHY[reason]}`,
          '',
          'It receives nothing until you enable it again:',
          `  PATCH /v1/webhooks/${webhookId} {"enabled": true}`,
          '',
          `Pending deliveries are then sent. To send the events that it missed: POST /v1/webhooks/${webhookId}/replay`,
        ].join('\n'),
      };
    }
    case 'WebhookPaused': {
      const { webhookId, keyId } = event.data;
      return {
        subject: `Webhook ${webhookId} was paused`,
        text: [
          `The webhook ${webhookId} was paused at ${event.metadata.occurredAt}: its API key ${keyId} has ended.`,
          '',
          'Its events are waiting. To receive them and later ones, adopt it in the dashboard, or with a key that does not expire:',
          `  POST /v1/webhooks/${webhookId}/adopt`,
          '',
          'If you no longer need it, delete it:',
          `  DELETE /v1/webhooks/${webhookId}`,
        ].join('\n'),
      };
    }
    case 'OrganizationSuspended':
      return {
        subject: 'Your organization was suspended',
        text: [
          `The operator of this service suspended your organization at ${event.metadata.occurredAt}. Their reason:`,
          `  ${event.data.reason}`,
          '',
          'No mail is accepted or sent, and mail accepted earlier is held. Tracked links in your mail do not work.',
          'You can still read everything, cancel mail and change settings. Unsubscribe links still work.',
          '',
          'Only the operator can resume your organization. Contact them.',
        ].join('\n'),
      };
    case 'OrganizationResumed':
      return {
        subject: 'Your organization can send again',
        text: [
          `The operator of this service resumed your organization at ${event.metadata.occurredAt}. Their reason:`,
          `  ${event.data.reason}`,
          '',
          'Mail is accepted again. Held mail is sent unless its time to live has ended.',
        ].join('\n'),
      };
    case 'QuotaWarned':
    case 'QuotaExceeded': {
      const { month, planId, limit, used } = event.data;
      const all = event.type === 'QuotaExceeded';
      return {
        subject: `Your organization has used ${all ? 'all' : '80 %'} of its quota`,
        text: [
          `Your organization has sent to ${used} recipients in ${month} (UTC). Its plan, ${planId}, allows ${limit}.`,
          '',
          'With a hard limit, further mail is rejected. With any other plan, it is charged:',
          '  GET /v1/billing',
          '',
          'To choose another plan:',
          '  GET /v1/billing/plans',
          '  PUT /v1/billing/plan',
        ].join('\n'),
      };
    }
    default:
      return null;
  }
};

/** Evidence that an auditor keeps out of the operator's reach: a signed checkpoint and the key that signed it. */
export interface ShownCheckpoint {
  /** Includes cosignatures. */
  readonly note: string;
  /** Key as a vkey. */
  readonly vkey: string;
  /** ISO 8601. */
  readonly signedAt: string;
}

export const checkpointNotice = ({ note, vkey, signedAt }: ShownCheckpoint): Notice => {
  const { origin, size } = parseCheckpoint(parseNote(note).text);
  return {
    subject: `Checkpoint of an audit log: ${size} events on ${signedAt.slice(0, 10)}`,
    text: [
      `The first ${size} events of the audit log ${origin} were signed at ${signedAt}:`,
      '',
      note,
      'Keep this mail or the attached file. With it, you can detect any later change to these events:',
      '',
      '  node outbox-audit-verify.mjs export.jsonl --key <the key you saw first> --since checkpoint.note',
      '',
      'This key signed it. Compare it with the key that you saw first. If they differ, the log must contain the rotation:',
      '',
      `  ${vkey}`,
      '',
      'You get this mail every day because you are an auditor of this log. The organization that added you can stop it.',
    ].join('\n'),
  };
};

/** File name of the attached note. */
export const CHECKPOINT_FILE = 'checkpoint.note';
