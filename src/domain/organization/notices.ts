import { parseCheckpoint, parseNote } from '../../lib/transparency/transparency.ts';
import type { RecordedEvent } from '../kernel/event-store.ts';

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
  failing: 'It took nothing for 5 days.',
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
          'Nothing is posted to it until you enable it again:',
          `  PATCH /v1/webhooks/${webhookId} {"enabled": true}`,
          '',
          `Pending deliveries are posted then. POST /v1/webhooks/${webhookId}/replay posts the events missed since.`,
        ].join('\n'),
      };
    }
    case 'WebhookPaused': {
      const { webhookId, keyId } = event.data;
      return {
        subject: `Webhook ${webhookId} was paused`,
        text: [
          `The webhook ${webhookId} was paused at ${event.metadata.occurredAt}: the API key ${keyId}, which answered for it, has ended.`,
          '',
          'Its events wait. To get them, and those that follow, adopt it with a key that does not expire, or in the dashboard:',
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
          'No mail is accepted or sent, mail accepted earlier is held, and tracked links in your mail do not work.',
          'You can still read everything, cancel mail and change settings. Links to unsubscribe still work.',
          '',
          'Only the operator can resume your organization: ask them.',
        ].join('\n'),
      };
    case 'OrganizationResumed':
      return {
        subject: 'Your organization may send again',
        text: [
          `The operator of this service resumed your organization at ${event.metadata.occurredAt}. Their reason:`,
          `  ${event.data.reason}`,
          '',
          'Mail is accepted again, and mail that was held is sent unless its time to live is over.',
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
          'A plan with a hard limit refuses more; any other charges for them:',
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
      'Keep this mail, or the attached file. Any later change to these events contradicts it:',
      '',
      '  node outbox-audit-verify.mjs export.jsonl --key <the key you saw first> --since checkpoint.note',
      '',
      'The key that signed it is below. Compare it with the one that you saw first: another one must be explained by the log.',
      '',
      `  ${vkey}`,
      '',
      'You get this mail each day because you are an auditor of this log. The organization that added you can end that.',
    ].join('\n'),
  };
};

/** File name of the attached note. */
export const CHECKPOINT_FILE = 'checkpoint.note';
