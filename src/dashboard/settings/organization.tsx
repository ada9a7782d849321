import type { JSX } from 'preact';
import type { SerializedOrganization } from '../../http/resources/organization.ts';
import { Action } from '../components/action.tsx';
import { request } from '../data/api.ts';
import { environmentOfOrganization } from '../data/credentials.ts';
import { currentEnvironment } from '../data/location.ts';

/** Settings of an organization. */

const ANALYSES = {
  off: 'not analyzed',
  warn: 'analyzed; findings are in the response',
  block: 'analyzed; rejected if there is an error',
} as const satisfies Readonly<Record<SerializedOrganization['default_analysis'], string>>;

export const INBOUND_DMARC = {
  accept: 'received like other mail',
  mark: 'received and marked',
  refuse: 'refused if the sender’s domain asks for it, and marked otherwise',
} as const satisfies Readonly<Record<SerializedOrganization['inbound_dmarc'], string>>;

type HtmlValidation = SerializedOrganization['html_validation'];

/** Ways for a message to arrive, each with a rule of its own. */
const HTML_ENTRIES = {
  api: '/v1',
  compat: '/compat',
  smtp: 'SMTP',
} as const satisfies Readonly<Record<keyof HtmlValidation, string>>;

const HTML_RULES = {
  strict: 'valid HTML only',
  browser: 'any HTML that a browser shows',
} as const satisfies Readonly<Record<HtmlValidation['api'], string>>;

const entriesOf = Object.keys(HTML_ENTRIES) as readonly (keyof HtmlValidation)[];

/** The rules in words. */
export const acceptedHtml = ({ html_validation: rules }: SerializedOrganization): string =>
  entriesOf.map((entry) => `${HTML_ENTRIES[entry]}: ${HTML_RULES[rules[entry]]}`).join('; ');

const HtmlRules = ({ rules }: { readonly rules: HtmlValidation }): JSX.Element => (
  <fieldset class="row">
    <legend>Accepted HTML</legend>
    {entriesOf.map((entry) => (
      <label class="row" key={entry}>
        {HTML_ENTRIES[entry]}
        <select class="inp" name={`html_${entry}`}>
          {Object.entries(HTML_RULES).map(([rule, words]) => (
            <option key={rule} value={rule} selected={rule === rules[entry]}>
              {words}
            </option>
          ))}
        </select>
      </label>
    ))}
    <small class="quiet">
      Other HTML is rejected, or sent unchanged with its problems as findings. Templates must always be valid.
    </small>
  </fieldset>
);

interface NumberProps {
  readonly name: 'content_retention_days' | 'session_idle_minutes' | 'session_hours';
  readonly word: string;
  readonly min: number;
  readonly max: number;
  readonly value: number;
}

const NumberField = ({ name, word, min, max, value }: NumberProps): JSX.Element => (
  <label class="row">
    {word}
    <input class="inp" name={name} type="number" required step={1} min={min} max={max} defaultValue={String(value)} />
  </label>
);

/** The API accepts whole numbers in this range and names the field otherwise. */
const DAYS = { min: 0, max: 365 };
const IDLE_MINUTES = { min: 5, max: 720 };
const HOURS = { min: 1, max: 168 };

export const ChangeOrganization = ({
  organization,
}: {
  readonly organization: SerializedOrganization;
}): JSX.Element => {
  const change = async (form: FormData): Promise<undefined> => {
    const text = (name: string): string => String(form.get(name) ?? '').trim();
    const wanted = {
      name: text('name'),
      contact: text('contact') || null,
      content_retention_days: Number(text('content_retention_days')),
      default_analysis: text('default_analysis'),
      inbound_dmarc: text('inbound_dmarc'),
      timezone: text('timezone'),
      session_idle_minutes: Number(text('session_idle_minutes')),
      session_hours: Number(text('session_hours')),
    };
    const changed = Object.entries(wanted).filter(
      ([name, value]) => organization[name as keyof typeof wanted] !== value,
    );
    const rules = entriesOf
      .map((entry) => [entry, text(`html_${entry}`)] as const)
      .filter(([entry, rule]) => organization.html_validation[entry] !== rule);
    const body = {
      ...Object.fromEntries(changed),
      ...(rules.length === 0 ? {} : { html_validation: Object.fromEntries(rules) }),
    };
    await request('/v1/organization', {
      method: 'PATCH',
      environment: environmentOfOrganization(currentEnvironment()),
      body,
    });
  };
  return (
    <Action
      word="Save"
      opener="Change"
      operation="PATCH /v1/organization"
      icon="sliders"
      tone="plain"
      title="Organization settings"
      act={change}
    >
      <label class="row">
        Name
        <input class="inp" name="name" required maxLength={100} defaultValue={organization.name} />
      </label>
      <label class="row">
        Contact address for notices
        <input class="inp" name="contact" type="email" defaultValue={organization.contact ?? ''} placeholder="none" />
      </label>
      <NumberField
        name="content_retention_days"
        word="Content retention, in days"
        {...DAYS}
        value={organization.content_retention_days}
      />
      <label class="row">
        By default, mail is
        <select class="inp" name="default_analysis">
          {Object.entries(ANALYSES).map(([policy, words]) => (
            <option key={policy} value={policy} selected={policy === organization.default_analysis}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <HtmlRules rules={organization.html_validation} />
      <label class="row">
        Inbound mail that fails DMARC is
        <select class="inp" name="inbound_dmarc">
          {Object.entries(INBOUND_DMARC).map(([policy, words]) => (
            <option key={policy} value={policy} selected={policy === organization.inbound_dmarc}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <label class="row">
        Time zone for statistics
        <input class="inp" name="timezone" required maxLength={64} defaultValue={organization.timezone} list="zones" />
        <datalist id="zones">
          {Intl.supportedValuesOf('timeZone').map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
      </label>
      <NumberField
        name="session_idle_minutes"
        word="Idle session time-out, in minutes"
        {...IDLE_MINUTES}
        value={organization.session_idle_minutes}
      />
      <NumberField
        name="session_hours"
        word="Maximum session length, in hours"
        {...HOURS}
        value={organization.session_hours}
      />
    </Action>
  );
};

/** Roles that have no access to mail content by default, with their plural names. */
const MASKED = {
  analyst: 'Analysts',
  auditor: 'Auditors',
} as const satisfies Readonly<Record<SerializedOrganization['contents_allowed_to'][number], string>>;
type MaskedRole = keyof typeof MASKED;
const MASKED_ROLES = Object.keys(MASKED) as readonly MaskedRole[];

/** Names the roles with access to mail content. */
export const contentsReaders = ({ contents_allowed_to: allowed }: SerializedOrganization): string =>
  ['owners', 'developers', ...allowed.map((role) => MASKED[role].toLowerCase())].join(', ');

/** Grants roles access to mail content or revokes it. */
export const AllowContents = ({ organization }: { readonly organization: SerializedOrganization }): JSX.Element => {
  const change = async (form: FormData): Promise<undefined> => {
    await request('/v1/organization/contents', {
      method: 'PUT',
      environment: environmentOfOrganization(currentEnvironment()),
      body: { allowed_to: MASKED_ROLES.filter((role) => form.has(role)) },
    });
  };
  return (
    <Action
      word="Save"
      opener="Message contents"
      operation="PUT /v1/organization/contents"
      icon="mail"
      tone="plain"
      title="Who can see message contents?"
      act={change}
    >
      <p class="two">
        Contents are addresses, subjects and bodies. Changes apply to open sessions within a second, and are recorded in
        the audit log.
      </p>
      <fieldset class="row">
        <legend>In addition to owners and developers</legend>
        {MASKED_ROLES.map((role) => (
          <label class="opt" key={role}>
            <input type="checkbox" name={role} defaultChecked={organization.contents_allowed_to.includes(role)} />
            <span>
              {MASKED[role]}
              <small>
                {organization.contents_allowed_to.includes(role) ? 'can see contents' : 'cannot see contents'}
              </small>
            </span>
          </label>
        ))}
      </fieldset>
    </Action>
  );
};
