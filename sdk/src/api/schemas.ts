// Generated from /openapi.json: see docs/contributing.md.

export interface SendMessageRequest {
  /** Sender: an address on the domain of the key, alone or as `Name <address>`. Required, unless the template has one. */
  from?: string | undefined;
  /** Recipients: one address, or an array of addresses. `to`, `cc` and `bcc` together: at most 50. An address that appears several times is one recipient, in the first of these fields that names it. */
  to: readonly string[] | string;
  /** Additional recipients, visible to all recipients. */
  cc?: readonly string[] | string | undefined;
  /** Additional recipients, hidden from the other recipients. */
  bcc?: readonly string[] | string | undefined;
  /** Address for replies, or an array of addresses. Default: `from`. */
  reply_to?: readonly string[] | string | undefined;
  /** Subject, one line. Required without a template. */
  subject?: string | undefined;
  /** HTML body: valid HTML, at most 512 elements deep. Required if there is no `text`. */
  html?: string | undefined;
  /** Plain-text body. Default: generated from `html`. */
  text?: string | undefined;
  /** Files to attach. The whole message can have at most 25 MB when encoded. */
  attachments?: readonly ({
    /** File name that recipients see. */
    filename: string;
    /** Base64 (RFC 4648 §4), padded, without line breaks. */
    content: string;
    /** Media type. Default: by the extension of `filename`. */
    content_type?: string | undefined;
    /** Name by which the HTML refers to an inline image: `cid:logo` for `logo`. */
    content_id?: string | undefined;
  })[] | undefined;
  /** Other forms of the message for mail programs that support them, such as an invitation (`text/calendar`) or AMP. */
  alternatives?: readonly {
    /** Media type with its parameters: `text/calendar; charset=utf-8; method=REQUEST`. */
    content_type: string;
    /** Base64 (RFC 4648 §4), padded, without line breaks. */
    content: string;
  }[] | undefined;
  /** More headers by name, at most 50, such as `X-…`, `In-Reply-To` or `References`. Not allowed, because the service writes them: `From`, `To`, `Cc`, `Bcc`, `Subject`, `Date`, `Message-ID`, `DKIM-Signature`, `Return-Path`, `Received`, `Sender`, `Content-*`, `MIME-Version`. `Reply-To` and `List-Unsubscribe` are not allowed together with the fields `reply_to` and `unsubscribe`. */
  headers?: Record<string, string> | undefined;
  /** Labels by which you find and count messages. */
  tags?: readonly {
    name: string;
    value: string;
  }[] | undefined;
  /** Your own values by name, returned with the message and its events. At most 50 values and 10 kB as JSON. */
  metadata?: Record<string, string> | undefined;
  /** `transactional`: mail that one recipient expects, such as a receipt. `bulk`: the same mail to many recipients; set `unsubscribe` for it. Default: `"transactional"`. */
  stream?: 'transactional' | 'bulk' | undefined;
  /** How recipients unsubscribe: by your own URL or address, or by links of this service (`managed`), one per recipient. The header `List-Unsubscribe` contains it, and most mail programs show it as a button; the text is not changed. A recipient who uses a managed link is suppressed: for bulk mail if `stream` is `bulk`, otherwise for all mail. */
  unsubscribe?: 'managed' | {
    url?: string | undefined;
    mailto?: string | undefined;
  } | undefined;
  /** Tracking of openings and clicks. Omitted fields use the setting of the domain, which is off by default. */
  tracking?: {
    /** true: add an invisible image that counts openings. */
    opens?: boolean | undefined;
    /** true: track clicks on links, except links with `data-outbox-track="off"`. */
    clicks?: boolean | undefined;
  } | undefined;
  /** Id of the topic of the message. Recipients can unsubscribe from one topic only; `unsubscribe` then defaults to `managed`. */
  topic?: string | undefined;
  /** When to send: a time with a time zone, at most 30 days ahead. Default: immediately. */
  scheduled_at?: string | undefined;
  /** How long to attempt delivery, in seconds from the sending time. Afterwards, undelivered recipients are `expired`. Default: `259200`. */
  ttl_seconds?: number | undefined;
  /** `warn`: analyze the content and return the findings. `block`: reject the message if there are errors. `off`: do not analyze. Default: `default_analysis` of the organization, which is `off` unless it was changed. */
  analysis?: 'off' | 'warn' | 'block' | undefined;
  /** Template that the subject, html and text come from. It is rendered when the message is accepted: later versions do not change the message. */
  template?: {
    /** Id or alias of a template. */
    id: string;
    /** Number of the version. Default: the published version. */
    version?: number | undefined;
    /** A language tag. `de-AT` falls back to `de`, and `de` to the default language of the template. */
    locale?: string | undefined;
    /** Values of the variables, by name. */
    variables?: Record<string, unknown> | undefined;
  } | undefined;
}

export interface SendBatchRequest {
  /** Messages, each with the fields of a single send. Each uses one request of the rate limit. */
  messages: readonly SendMessageRequest[];
  /** `strict`: one invalid message rejects the whole batch. `partial`: the valid messages are sent. Default: `"strict"`. */
  mode?: 'strict' | 'partial' | undefined;
}

export interface CancelMessagesRequest {
  /** At most 500 messages. */
  ids?: readonly string[] | undefined;
  /** Messages to cancel, by the filters of `GET /v1/messages`. */
  filter?: {
    /** Only messages to this address. */
    to?: string | undefined;
    /** Only messages from this address. */
    from?: string | undefined;
    /** Only messages with this tag: `order:1234`. */
    tag?: string | undefined;
    /** Only messages with this metadata: `customer:42`. */
    metadata?: string | undefined;
    /** Words of the subject. All must occur, in any order and letter case. Only the first 24 words of a subject can be found, for as long as its contents are stored. In double quotes: the whole subject, in any letter case and with any amount of white space. */
    subject?: string | undefined;
    /** Only messages sent by this API key. */
    key_id?: string | undefined;
    /** Only messages sent by this request: the `X-Request-Id` of its response. */
    request_id?: string | undefined;
    /** Only messages rendered from this template, by id or alias. `(none)`: from no template. */
    template_id?: string | undefined;
    /** Only messages from this sending domain, by id. */
    domain_id?: string | undefined;
    /** Only messages accepted at or after this time (ISO 8601), or from this day on (time zone of the organization). */
    since?: string | undefined;
    /** Only messages accepted before this time (ISO 8601), or before this day (time zone of the organization). */
    until?: string | undefined;
    /** Only messages to this recipient domain. */
    recipient_domain?: string | undefined;
    /** Only messages to this mailbox provider, as `GET /v1/stats` counts them. */
    mailbox_provider?: 'gmail' | 'outlook' | 'yahoo' | 'yahoo_japan' | 'icloud' | 'comcast' | 'proton' | 'fastmail' | 'zoho' | 'gmx' | 'web_de' | 'telekom' | 'freenet' | 'orange' | 'free' | 'laposte' | 'libero' | 'seznam' | 'wp' | 'yandex' | 'mail_ru' | 'qq' | 'netease' | 'naver' | 'docomo' | 'other' | undefined;
    /** Only transactional or only bulk mail. */
    stream?: 'transactional' | 'bulk' | undefined;
    /** Only messages with a recipient that has this bounce category. */
    bounce_class?: 'no_mailbox' | 'no_domain' | 'mailbox_disabled' | 'mailbox_full' | 'too_large' | 'content_rejected' | 'spam' | 'policy' | 'reputation' | 'authentication' | 'greylisted' | 'rate_limited' | 'sender_rejected' | 'relay_denied' | 'system' | 'network' | 'protocol' | 'unknown' | undefined;
    /** Only messages with a recipient that was bounced or deferred with this SMTP code: `550`, `5.1.1`, `451 4.7.1`. */
    smtp_code?: string | undefined;
    /** Default: all waiting messages. */
    status?: 'accepted' | 'scheduled' | 'deferred' | undefined;
  } | undefined;
  /** true: return the messages that would be cancelled, and cancel nothing. Default: `false`. */
  dry_run?: boolean | undefined;
}

export interface ResendMessageRequest {
  /** Ids of recipients. Default: all recipients that the message did not reach. */
  recipient_ids?: readonly string[] | undefined;
  /** true: if some recipients are suppressed, send to the others. false: 409 `recipient_suppressed`. Default: `false`. */
  skip_suppressed?: boolean | undefined;
}

export interface ResendMessagesRequest {
  /** At most 100 messages. */
  ids: readonly string[];
  /** true: if some recipients are suppressed, send to the others. false: 409 `recipient_suppressed`. Default: `false`. */
  skip_suppressed?: boolean | undefined;
}

export interface RescheduleMessageRequest {
  /** When to send: a time with a time zone. */
  scheduled_at: string;
}

export interface CreateKeyRequest {
  /** Purpose of the key, for people. */
  name: string;
  /** The domain that the key is bound to. It sends only from addresses of this domain. */
  domain_id: string;
  /** Permissions of the key. Only `admin` includes others. */
  permissions: readonly ('send' | 'read' | 'manage' | 'admin')[];
  /** Default: the environment of the requesting key. A live key can create test keys. */
  environment?: 'live' | 'test' | undefined;
  /** Requests per minute by kind, up to the organization’s ceilings; only `admin` may set them. An omitted kind has the default, or the limit of the requesting `manage` key if that is lower. */
  rate_limits?: {
    send?: number | undefined;
    read?: number | undefined;
    manage?: number | undefined;
  } | undefined;
  /** Addresses and networks (`192.0.2.0/24`) that may use the key; empty: any. Default and maximum: those of the requesting key. */
  allowed_cidrs?: readonly string[] | undefined;
  /** ISO 8601; null: never. Default and latest: the expiry of the requesting key. */
  expires_at?: string | null | undefined;
}

export interface UpdateKeyRequest {
  /** Purpose of the key, for people. */
  name?: string | undefined;
  /** Permissions of the key. Only `admin` includes others. */
  permissions?: readonly ('send' | 'read' | 'manage' | 'admin')[] | undefined;
  /** Each given kind is replaced; null restores the default. */
  rate_limits?: {
    send?: number | null | undefined;
    read?: number | null | undefined;
    manage?: number | null | undefined;
  } | undefined;
  /** Replaces the list; empty: any address. */
  allowed_cidrs?: readonly string[] | undefined;
  /** A time in the future; null: never. */
  expires_at?: string | null | undefined;
}

export interface RotateKeyRequest {
  /** Minutes for which the previous secret still works (grace period). 0: the previous secret ends now. Secrets before it keep the grace period that they were given; `earlier_secrets` in the response lists those that still work. Default: `1440`. */
  grace_period_minutes?: number | undefined;
  /** true: revoke all earlier secrets immediately. Default: `false`. */
  revoke_previous?: boolean | undefined;
}

export interface RegisterDomainRequest {
  /** The part after the @ of your sender addresses, such as `mail.example.com`. */
  name: string;
  /** Receiving mail that people send to the domain. */
  inbound?: {
    /** true: mail to addresses of the domain is received here. Publish its MX record, which is then among `records`. The service must have a `BOUNCE_DOMAIN`. */
    mx: boolean;
  } | undefined;
}

export interface UpdateDomainRequest {
  /** How the sender appears on recipient pages. Replaced as a whole. null removes it. */
  branding?: {
    /** Name of the sender. null: the name of the domain is shown. Default: `null`. */
    name?: string | null | undefined;
    /** Color of buttons, `#rrggbb`. Their text is black or white, whichever is legible. */
    color?: string | null | undefined;
    /** URL of an image on your server (https). Without a logo, the pages load nothing from other hosts. Default: `null`. */
    logo_url?: string | null | undefined;
  } | null | undefined;
  /** Default tracking of mail that is accepted from now on. A message can override it. */
  tracking?: {
    /** true: add an invisible image that counts openings. */
    opens?: boolean | undefined;
    /** true: track clicks on links, except links with `data-outbox-track="off"`. */
    clicks?: boolean | undefined;
  } | undefined;
  /** Receiving mail that people send to the domain. */
  inbound?: {
    /** true: mail to addresses of the domain is received here. Publish its MX record, which is then among `records`. The service must have a `BOUNCE_DOMAIN`. */
    mx: boolean;
  } | undefined;
}

export interface StartWarmUpRequest {
  /** Quota of recipients per destination for the first day, the second, and so on. */
  plan?: readonly number[] | undefined;
}

export interface CreateTemplateRequest {
  /** A short name, unique in your organization, that you can use instead of the id. */
  alias: string;
  /** Name shown in the dashboard. */
  name: string;
  /** A note for people who use the template. Default: `null`. */
  description?: string | null | undefined;
  /** Subject, one line. May contain Liquid. */
  subject: string;
  /** Html with Liquid: `{{ name }}` inserts a value escaped, `{{ name | raw }}` as html. At most 200,000 characters. */
  html: string;
  /** Plain text with Liquid. null: generated from the html. Default: `null`. */
  text?: string | null | undefined;
  /** Preview text that mail programs show after the subject. May contain Liquid. Default: `null`. */
  preheader?: string | null | undefined;
  /** Default `from` of messages. May contain Liquid. Default: `null`. */
  from?: string | null | undefined;
  /** Default `reply_to` of messages. May contain Liquid. */
  reply_to?: readonly string[] | undefined;
  /** Alias of the layout: a template that contains `{{ content }}`. Publishing copies the published version of the layout. Default: `null`. */
  layout?: string | null | undefined;
  /** Language in which `html` is written. Default: `"html"`. */
  format?: 'html' | 'mjml' | undefined;
  /** true: publishing moves the styles into the elements. Default: `false`. */
  inline_css?: boolean | undefined;
  /** All variables that the template uses, at most 100. */
  variables?: readonly ({
    name: string;
    type: 'string' | 'number' | 'boolean' | 'date' | 'url' | 'list' | 'object';
    /** Default: `true`. */
    required?: boolean | undefined;
    /** Value that is used if a message does not set the variable. */
    default?: unknown | undefined;
    /** Value that is used to check and preview the template. */
    example?: unknown | undefined;
    /** A note for people who use the template. */
    description?: string | undefined;
  })[] | undefined;
  /** The same fields in other languages, by language tag. `de-AT` falls back to `de`, and `de` to the fields above. */
  locales?: Record<string, {
    subject: string;
    html: string;
    /** Default: `null`. */
    text?: string | null | undefined;
    /** Default: `null`. */
    preheader?: string | null | undefined;
  }> | undefined;
}

export interface ChangeTemplateRequest {
  /** Name shown in the dashboard. */
  name?: string | undefined;
  /** A note for people who use the template. */
  description?: string | null | undefined;
  /** Subject, one line. May contain Liquid. */
  subject?: string | undefined;
  /** Html with Liquid: `{{ name }}` inserts a value escaped, `{{ name | raw }}` as html. At most 200,000 characters. */
  html?: string | undefined;
  /** Plain text with Liquid. null: generated from the html. */
  text?: string | null | undefined;
  /** Preview text that mail programs show after the subject. May contain Liquid. */
  preheader?: string | null | undefined;
  /** Default `from` of messages. May contain Liquid. */
  from?: string | null | undefined;
  /** Default `reply_to` of messages. May contain Liquid. */
  reply_to?: readonly string[] | undefined;
  /** Alias of the layout: a template that contains `{{ content }}`. Publishing copies the published version of the layout. */
  layout?: string | null | undefined;
  /** Language in which `html` is written. */
  format?: 'html' | 'mjml' | undefined;
  /** true: publishing moves the styles into the elements. */
  inline_css?: boolean | undefined;
  /** All variables that the template uses, at most 100. */
  variables?: readonly ({
    name: string;
    type: 'string' | 'number' | 'boolean' | 'date' | 'url' | 'list' | 'object';
    /** Default: `true`. */
    required?: boolean | undefined;
    /** Value that is used if a message does not set the variable. */
    default?: unknown | undefined;
    /** Value that is used to check and preview the template. */
    example?: unknown | undefined;
    /** A note for people who use the template. */
    description?: string | undefined;
  })[] | undefined;
  /** The same fields in other languages, by language tag. `de-AT` falls back to `de`, and `de` to the fields above. */
  locales?: Record<string, {
    subject: string;
    html: string;
    /** Default: `null`. */
    text?: string | null | undefined;
    /** Default: `null`. */
    preheader?: string | null | undefined;
  }> | undefined;
}

export interface RollBackTemplateRequest {
  /** Number of the version to send from now on. */
  version: number;
}

export interface RenderTemplateRequest {
  /** Number of the version; the draft when absent. */
  version?: number | undefined;
  /** A language tag. `de-AT` falls back to `de`, and `de` to the default language of the template. */
  locale?: string | undefined;
  /** Values by variable name. Default: the values of the examples. */
  variables?: Record<string, unknown> | undefined;
}

export interface TestSendTemplateRequest {
  /** One address, or an array of at most 10. */
  to: readonly string[] | string;
  /** Number of the version; the draft when absent. */
  version?: number | undefined;
  /** A language tag. `de-AT` falls back to `de`, and `de` to the default language of the template. */
  locale?: string | undefined;
  /** Values by variable name. Default: the values of the examples. */
  variables?: Record<string, unknown> | undefined;
}

export interface RegisterWebhookRequest {
  /** URL that events are posted to: HTTPS, on port 443 or 8443 of a public address, without user and password. While mail is captured (`MAIL_URL=capture:`), plain HTTP, any port and loopback addresses are allowed too. The host name is resolved now and before every post. */
  url: string;
  /** Event types (`message.delivered`) or families: `message.*`, `domain.*`, `organization.*`, `api_key.*`, `template.*`, `webhook.*`, `suppression.*`, `topic.*`, `inbound.*`, `inbound_route.*`, `erasure.*`, `billing.*`, `audit.*`. */
  events: readonly string[];
  /** A note for people who manage the webhook. Default: `null`. */
  description?: string | null | undefined;
  /** Filters for the events that are posted. Both must match. */
  filters?: {
    /** Only events of these sending domains and of their messages. Empty: all. */
    domain_ids?: readonly string[] | undefined;
    /** Only events of messages with one of these tags: `order:1234`. Empty: all. */
    tags?: readonly string[] | undefined;
  } | undefined;
  /** Headers to add to every post, at most 10, such as `authorization`. Their values are stored encrypted and not shown again. Not allowed: `webhook-*`, `svix-*`, `x-twilio-email-event-webhook-*`, `content-*`, `host`, `user-agent`, and headers of the connection. */
  headers?: Record<string, string> | undefined;
  /** `outbox`: events as `GET /v1/events` returns them. `sendgrid`: as the Event Webhook of SendGrid posts them, with its signature; `events` must then be among `message.accepted`, `message.delivered`, `message.deferred`, `message.bounced`, `message.failed`, `message.suppressed`, `message.expired`, `message.opened`, `message.clicked`, `message.complained`, `message.unsubscribed`. `resend`: as webhooks of Resend are posted, with the headers `svix-*` too; `events` must then be among `message.accepted`, `message.scheduled`, `message.delivered`, `message.deferred`, `message.bounced`, `message.failed`, `message.expired`, `message.suppressed`, `message.opened`, `message.clicked`, `message.complained`. `postmark_inbound`: received mail as Postmark posts it, with its text, html and attachments; `sendgrid_inbound`: as the Inbound Parse form of SendGrid; `events` must then be `inbound.received`. It cannot be changed. Default: `"outbox"`. */
  format?: 'outbox' | 'sendgrid' | 'resend' | 'postmark_inbound' | 'sendgrid_inbound' | undefined;
}

export interface UpdateWebhookRequest {
  /** URL that events are posted to: HTTPS, on port 443 or 8443 of a public address, without user and password. While mail is captured (`MAIL_URL=capture:`), plain HTTP, any port and loopback addresses are allowed too. The host name is resolved now and before every post. */
  url?: string | undefined;
  /** Event types (`message.delivered`) or families: `message.*`, `domain.*`, `organization.*`, `api_key.*`, `template.*`, `webhook.*`, `suppression.*`, `topic.*`, `inbound.*`, `inbound_route.*`, `erasure.*`, `billing.*`, `audit.*`. */
  events?: readonly string[] | undefined;
  /** A note for people who manage the webhook. */
  description?: string | null | undefined;
  /** Filters for the events that are posted. Both must match. */
  filters?: {
    /** Only events of these sending domains and of their messages. Empty: all. */
    domain_ids?: readonly string[] | undefined;
    /** Only events of messages with one of these tags: `order:1234`. Empty: all. */
    tags?: readonly string[] | undefined;
  } | undefined;
  /** Headers to add to every post, at most 10, such as `authorization`. Their values are stored encrypted and not shown again. Not allowed: `webhook-*`, `svix-*`, `x-twilio-email-event-webhook-*`, `content-*`, `host`, `user-agent`, and headers of the connection. */
  headers?: Record<string, string> | undefined;
  /** false: nothing is posted, and deliveries wait. true: posting resumes with the waiting deliveries. */
  enabled?: boolean | undefined;
}

export interface RotateWebhookSecretRequest {
  /** Minutes for which posts are also signed with the previous secret (grace period). Default: `1440`. */
  grace_period_minutes?: number | undefined;
}

export interface ReplayWebhookRequest {
  /** Replay events from this time on. */
  since?: string | undefined;
  /** Replay events before this time. Default: now. */
  until?: string | undefined;
  /** Replay events after this cursor of the event feed, or from `start`. Use instead of `since`. */
  after?: string | undefined;
}

export interface AddSuppressionsRequest {
  /** One address. For several, use `addresses`. */
  address?: string | undefined;
  /** Several addresses, suppressed for the same reason. */
  addresses?: readonly string[] | undefined;
  /** Mail to block: all mail, mail of one `stream`, or mail about one topic. Default: `"all"`. */
  scope?: 'all' | 'transactional' | 'bulk' | 'topic' | undefined;
  /** Id of the topic. Required with scope `topic`, otherwise not allowed. */
  topic_id?: string | undefined;
  /** Time from which mail may be sent to the address again. null: never. */
  expires_at?: string | null | undefined;
  /** Evidence for the suppression, such as how the person asked for it. Default: `null`. */
  note?: string | null | undefined;
}

export interface ImportSuppressionsRequest {
  /** The CSV file as text, at most 10000 rows. Its first row names the columns: `address`, and optionally `scope`, `reason`, `expires_at`, `note` and, for scope `topic`, `topic_id`. */
  csv: string;
}

export interface CreateTopicRequest {
  /** Name shown to recipients on the preference page. */
  name: string;
  /** One sentence shown to recipients below the name. Default: `null`. */
  description?: string | null | undefined;
  /** `in`: recipients get this mail unless they opt out. `out`: only recipients who opted in get it. You cannot change this later. */
  default: 'in' | 'out';
  /** Id of the only domain that may use the topic. null: all domains of the organization may use it. Default: `null`. */
  domain_id?: string | null | undefined;
}

export interface OptInRequest {
  /** Addresses of people who opted in. */
  addresses: readonly string[];
  /** How, when and where they opted in. Shown to you in the list of opt-ins, never to recipients. Default: `null`. */
  evidence?: string | null | undefined;
}

export interface UpdateTopicRequest {
  /** Name shown to recipients on the preference page. */
  name?: string | undefined;
  /** One sentence shown to recipients below the name. null removes it. */
  description?: string | null | undefined;
}

export interface TestInboundRequest {
  /** The message with its header (RFC 5322), as UTF-8. It is stored as it is: separate lines by CRLF. */
  raw: string;
  /** Recipient, at a domain of your organization. It need not be in the header. */
  to: string;
  /** Return path (`MAIL FROM`). Default: an empty one, as bounces have. */
  from?: string | undefined;
}

export interface CreateInboundRouteRequest {
  /** Domain that receives the mail. You cannot change this later. */
  domain_id: string;
  /** Part of the address before the @, in any letter case. One `*` matches any text: `support+*`, `*`. */
  match: string;
  /** `webhook`: post `inbound.received` to webhooks. `store`: keep the mail and post it to no webhook. `forward`: keep the mail and send it to `forward_to`. `refuse`: refuse the recipient at SMTP (550). */
  action: 'webhook' | 'store' | 'forward' | 'refuse';
  /** The only webhook that gets the mail, even if it does not subscribe to `inbound.received`. null: all webhooks that subscribe to it. Allowed only with the action `webhook`. Default: `null`. */
  webhook_id?: string | null | undefined;
  /** Address that mail is forwarded to, required with the action `forward`. It gets a mail with a link, and mail is forwarded once the link is confirmed. A new address must confirm again. */
  forward_to?: string | undefined;
  /** The first matching route applies. Lower orders are tried first, then older routes. Default: `0`. */
  order?: number | undefined;
}

export interface UpdateInboundRouteRequest {
  /** Part of the address before the @, in any letter case. One `*` matches any text: `support+*`, `*`. */
  match?: string | undefined;
  /** `webhook`: post `inbound.received` to webhooks. `store`: keep the mail and post it to no webhook. `forward`: keep the mail and send it to `forward_to`. `refuse`: refuse the recipient at SMTP (550). */
  action?: 'webhook' | 'store' | 'forward' | 'refuse' | undefined;
  /** The only webhook that gets the mail, even if it does not subscribe to `inbound.received`. null: all webhooks that subscribe to it. Allowed only with the action `webhook`. */
  webhook_id?: string | null | undefined;
  /** Address that mail is forwarded to, required with the action `forward`. It gets a mail with a link, and mail is forwarded once the link is confirmed. A new address must confirm again. */
  forward_to?: string | undefined;
  /** The first matching route applies. Lower orders are tried first, then older routes. */
  order?: number | undefined;
}

export interface ChoosePlanRequest {
  /** Id of a plan that `GET /v1/billing/plans` lists. */
  plan: string;
}

export interface AddAuditorRequest {
  /** Name of the auditor. */
  name: string;
  /** One email address without a name. null: no contact. */
  email?: string | null | undefined;
  /** Time when the token expires (ISO 8601), at the latest when the requesting key expires. */
  expires_at: string;
  /** true: the auditor may also see mail contents. false: addresses and subjects of mail are masked. Default: `false`. */
  contents?: boolean | undefined;
}

export interface RequestErasureRequest {
  /** Address whose data is removed. The address itself is not stored: its data is found by a digest. */
  address: string;
  /** Legal ground for the erasure (GDPR Art. 17(1)). `requested`: none stated. Default: `"requested"`. */
  reason?: 'requested' | 'no_longer_needed' | 'consent_withdrawn' | 'objection' | 'unlawful' | 'legal_obligation' | undefined;
  /** true: also suppress the address for all live mail. Existing suppressions stay in any case. Default: `false`. */
  suppress?: boolean | undefined;
}

export interface PreviewErasureRequest {
  /** Address whose data is removed. The address itself is not stored: its data is found by a digest. */
  address: string;
}

export interface UpdateOrganizationRequest {
  /** Name of the organization. */
  name?: string | undefined;
  /** Email address for notices from the service, without a name. null removes it. */
  contact?: string | null | undefined;
  /** Days for which contents of messages are stored. 0: only until they are delivered. */
  content_retention_days?: number | undefined;
  /** Default `analysis` of messages, from the API and by SMTP. */
  default_analysis?: 'off' | 'warn' | 'block' | undefined;
  /** Which html is accepted from `/v1` (`api`), from `/compat` and by SMTP. `strict`: only valid html. `browser`: any html that a browser can show, unchanged; its problems become findings of the message. Omitted entries stay unchanged. */
  html_validation?: {
    api?: 'strict' | 'browser' | undefined;
    compat?: 'strict' | 'browser' | undefined;
    smtp?: 'strict' | 'browser' | undefined;
  } | undefined;
  /** Inbound mail that fails DMARC. `accept`: it is received like other mail. `mark`: it is received with `marked: true`. `refuse`: it is refused if the sender’s domain publishes `p=quarantine` or `p=reject`, and marked otherwise. */
  inbound_dmarc?: 'accept' | 'mark' | 'refuse' | undefined;
  /** Default IANA time zone of statistics. */
  timezone?: string | undefined;
  /** A member’s session ends after this many minutes without a request. Also applies to open sessions. */
  session_idle_minutes?: number | undefined;
  /** A member’s session ends after this many hours even if it is used. */
  session_hours?: number | undefined;
  /** Customer on later invoices. Without it they are usage statements. null removes it. */
  billing_details?: {
    /** Legal name. */
    name: string;
    /** Postal address, with a line break (\n) between its lines. */
    address: string;
    /** Default: `null`. */
    tax_id?: string | null | undefined;
  } | null | undefined;
}

export interface SetLegalHoldRequest {
  /** true: begin the hold. false: end it, and carry out the removals that waited. */
  active: boolean;
}

export interface SetContentsRolesRequest {
  /** All roles that may see mail contents. Other roles may not. */
  allowed_to: readonly ('analyst' | 'auditor')[];
}

export interface PauseBulkMailRequest {
  /** true: pause bulk mail. false: resume it. */
  paused: boolean;
}

export interface InviteMemberRequest {
  /** One email address without a name. */
  email: string;
  /** Name of the person. Default: the address. */
  name?: string | undefined;
  /** Role of the person. */
  role: 'owner' | 'developer' | 'analyst' | 'auditor';
}

export interface ChangeMemberRequest {
  /** New role of the member. */
  role: 'owner' | 'developer' | 'analyst' | 'auditor';
}

export interface ReleaseDestinationRequest {
  /** Name of the destination, as `GET /v1/destinations` lists it. */
  destination: string;
}

export interface SentMessage {
  id: string;
  object: 'message';
  message_id: string;
  status: 'accepted' | 'scheduled';
  environment: 'live' | 'test';
  created_at: string;
  scheduled_at?: string | undefined;
  recipients: ({
    id: string;
    address: string;
    kind: 'to' | 'cc' | 'bcc';
    status: 'accepted' | 'scheduled';
  })[];
  analysis?: {
    score: number;
    verdict: 'pass' | 'warn' | 'fail';
    findings: Finding[];
  } | undefined;
}

export interface Finding {
  rule: 'domain-not-verified' | 'dkim-not-valid' | 'spf-not-valid' | 'dmarc-not-valid' | 'authentication-unchecked' | 'mail-captured' | 'sender-name-misleading' | 'lookalike-host' | 'sender-no-reply' | 'unsubscribe-missing' | 'unsubscribe-not-one-click' | 'subject-blank' | 'subject-deceptive' | 'subject-fake-reply' | 'subject-shouting' | 'subject-too-long' | 'subject-long' | 'template-marker' | 'encoding-damage' | 'secret' | 'body-empty' | 'text-differs' | 'text-missing' | 'html-invalid' | 'html-attribute-repeated' | 'html-clipped' | 'html-deep' | 'html-lang-missing' | 'message-large' | 'active-content' | 'hidden-text' | 'external-style' | 'link-script' | 'link-text-mismatch' | 'link-text-other-name' | 'link-private-host' | 'link-ip-address' | 'link-user-name' | 'link-shortener' | 'link-malformed' | 'link-plain-http' | 'link-empty' | 'link-other-site' | 'image-attachment-missing' | 'image-attachment-unused' | 'image-heavy' | 'image-without-source' | 'image-data-uri' | 'image-without-alt' | 'image-without-width' | 'tracking-pixel' | 'attachment-executable' | 'attachment-name-deceptive' | 'attachment-archive';
  severity: 'info' | 'warning' | 'error';
  message: string;
  field: string;
  line?: number | undefined;
  column?: number | undefined;
  fix: string;
}

export interface Analysis {
  object: 'analysis';
  score: number;
  verdict: 'pass' | 'warn' | 'fail';
  findings: Finding[];
  size_bytes: number;
}

export interface Batch {
  object: 'batch';
  accepted: number;
  refused: number;
  data: ({
    id: string;
    object: 'message';
    message_id: string;
    status: 'accepted' | 'scheduled';
    environment: 'live' | 'test';
    created_at: string;
    scheduled_at?: string | undefined;
    recipients: ({
      id: string;
      address: string;
      kind: 'to' | 'cc' | 'bcc';
      status: 'accepted' | 'scheduled';
    })[];
    analysis?: {
      score: number;
      verdict: 'pass' | 'warn' | 'fail';
      findings: Finding[];
    } | undefined;
    index: number;
    http_status: 202;
  } | {
    error: {
      message: string;
      code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'nothing_to_resend' | 'recipient_suppressed' | 'content_removed' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_inbound_routes' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
      details?: Record<string, string[]> | undefined;
      retry_after?: number | undefined;
    };
    index: number;
    http_status: number;
    status: 'refused';
  })[];
}

export interface ListedMessage {
  id: string;
  object: 'message';
  message_id: string;
  status: 'accepted' | 'scheduled' | 'sending' | 'delivered' | 'deferred' | 'bounced' | 'failed' | 'suppressed' | 'cancelled' | 'expired';
  environment: 'live' | 'test';
  created_at: string;
  partial: boolean;
  domain_id: string;
  api_key_id: string;
  stream: 'transactional' | 'bulk';
  size_bytes: number;
  expires_at: string;
  /** Template that the message was rendered from. null: no template. */
  template: {
    id: string;
    version: number;
  } | null;
  scheduled_at: string | null;
  from: string | null;
  subject: string | null;
  tags: {
    name: string;
    value: string;
  }[];
  metadata: Record<string, string>;
  /** `expired`: the content was removed when its retention ended, together with sender, recipients, tags and metadata. `erased`: it was removed because a recipient was erased. null: it cannot be read at the moment: try again later. */
  content: 'stored' | 'expired' | 'erased' | null;
  recipients: ({
    id: string;
    address: string | null;
    kind: 'to' | 'cc' | 'bcc';
    status: 'accepted' | 'scheduled' | 'sending' | 'delivered' | 'deferred' | 'bounced' | 'failed' | 'suppressed' | 'cancelled' | 'expired';
    complained: boolean;
    unsubscribed: boolean;
    /** true: a person opened it. Always false without open tracking. */
    opened: boolean;
    /** true: a person followed a link in it. Always false without click tracking. */
    clicked: boolean;
  })[];
}

export interface MessageContent {
  object: 'message_content';
  id: string;
  from: string;
  from_name: string | null;
  reply_to: string[];
  subject: string;
  html: string | null;
  /** The plain text that is sent: from the request, or generated from the html. */
  text: string | null;
  headers: Record<string, string>;
  unsubscribe: 'managed' | {
    url: string | null;
    mailto: string | null;
  } | null;
  /** Other forms of the message, such as an invitation or AMP, in base64. */
  alternatives: {
    content_type: string;
    content: string;
  }[];
  /** Findings of the analysis. Without an analysis: why the html is not valid. */
  findings: Finding[];
  attachments: ({
    filename: string;
    content_type: string;
    content_id: string | null;
    content: string;
  })[];
}

export type OutboxEvent = MessageAcceptedEvent | MessageScheduledEvent | MessageSendingEvent | MessageDeliveredEvent | MessageDeferredEvent | MessageBouncedEvent | MessageEndedEvent | MessageOpenedEvent | MessageClickedEvent | MessageComplainedEvent | MessageUnsubscribedEvent | DomainEvent | DomainTroubleEvent | OrganizationEvent | OrganizationTroubleEvent | ApiKeyEvent | TemplateEvent | WebhookEvent | WebhookDisabledEvent | SuppressionCreatedEvent | SuppressionDeletedEvent | ResubscribedEvent | QuotaEvent | InvoiceClosedEvent | AuditCheckpointEvent | ErasureCompletedEvent | TopicEvent | InboundReceivedEvent | InboundForwardedEvent | InboundForwardFailedEvent | InboundRouteEvent;

export interface MessageAcceptedEvent {
  id: string;
  object: 'event';
  type: 'message.accepted';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    message_id: string;
    recipient: {
      id: string;
      address: string | null;
      kind: 'to' | 'cc' | 'bcc' | null;
    };
    tags: {
      name: string;
      value: string;
    }[];
    metadata: Record<string, string>;
  };
}

export interface MessageScheduledEvent {
  id: string;
  object: 'event';
  type: 'message.scheduled' | 'message.rescheduled';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    message_id: string;
    recipient: {
      id: string;
      address: string | null;
      kind: 'to' | 'cc' | 'bcc' | null;
    };
    tags: {
      name: string;
      value: string;
    }[];
    metadata: Record<string, string>;
    scheduled_at: string;
  };
}

export interface MessageSendingEvent {
  id: string;
  object: 'event';
  type: 'message.sending';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    message_id: string;
    recipient: {
      id: string;
      address: string | null;
      kind: 'to' | 'cc' | 'bcc' | null;
    };
    tags: {
      name: string;
      value: string;
    }[];
    metadata: Record<string, string>;
    attempt: number;
  };
}

export interface MessageDeliveredEvent {
  id: string;
  object: 'event';
  type: 'message.delivered';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    message_id: string;
    recipient: {
      id: string;
      address: string | null;
      kind: 'to' | 'cc' | 'bcc' | null;
    };
    tags: {
      name: string;
      value: string;
    }[];
    metadata: Record<string, string>;
    smtp: {
      code: number;
      enhanced: string | null;
      text: string | null;
      mx: string | null;
      tls: string | null;
      cipher: string | null;
      policy: 'opportunistic' | 'required' | 'mta-sts' | 'dane' | null;
      address: string | null;
      stage: 'connect' | 'session' | 'mail' | 'recipient' | 'content' | null;
    };
    attempt: number;
  };
}

export interface MessageDeferredEvent {
  id: string;
  object: 'event';
  type: 'message.deferred';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    message_id: string;
    recipient: {
      id: string;
      address: string | null;
      kind: 'to' | 'cc' | 'bcc' | null;
    };
    tags: {
      name: string;
      value: string;
    }[];
    metadata: Record<string, string>;
    smtp?: {
      code: number;
      enhanced: string | null;
      text: string | null;
      mx: string | null;
      tls: string | null;
      cipher: string | null;
      policy: 'opportunistic' | 'required' | 'mta-sts' | 'dane' | null;
      address: string | null;
      stage: 'connect' | 'session' | 'mail' | 'recipient' | 'content' | null;
    } | undefined;
    attempt: number;
    next_attempt_at: string;
    reason: string;
    category?: 'no_mailbox' | 'no_domain' | 'mailbox_disabled' | 'mailbox_full' | 'too_large' | 'content_rejected' | 'spam' | 'policy' | 'reputation' | 'authentication' | 'greylisted' | 'rate_limited' | 'sender_rejected' | 'relay_denied' | 'system' | 'network' | 'protocol' | 'unknown' | undefined;
  };
}

export interface MessageBouncedEvent {
  id: string;
  object: 'event';
  type: 'message.bounced';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    message_id: string;
    recipient: {
      id: string;
      address: string | null;
      kind: 'to' | 'cc' | 'bcc' | null;
    };
    tags: {
      name: string;
      value: string;
    }[];
    metadata: Record<string, string>;
    smtp: {
      code: number;
      enhanced: string | null;
      text: string | null;
      mx: string | null;
      tls: string | null;
      cipher: string | null;
      policy: 'opportunistic' | 'required' | 'mta-sts' | 'dane' | null;
      address: string | null;
      stage: 'connect' | 'session' | 'mail' | 'recipient' | 'content' | null;
    };
    attempt: number;
    reason: string;
    category?: 'no_mailbox' | 'no_domain' | 'mailbox_disabled' | 'mailbox_full' | 'too_large' | 'content_rejected' | 'spam' | 'policy' | 'reputation' | 'authentication' | 'greylisted' | 'rate_limited' | 'sender_rejected' | 'relay_denied' | 'system' | 'network' | 'protocol' | 'unknown' | undefined;
    late?: true | undefined;
    shared?: true | undefined;
  };
}

export interface MessageEndedEvent {
  id: string;
  object: 'event';
  type: 'message.failed' | 'message.suppressed' | 'message.cancelled' | 'message.expired';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    message_id: string;
    recipient: {
      id: string;
      address: string | null;
      kind: 'to' | 'cc' | 'bcc' | null;
    };
    tags: {
      name: string;
      value: string;
    }[];
    metadata: Record<string, string>;
    reason: string;
  };
}

export interface MessageOpenedEvent {
  id: string;
  object: 'event';
  type: 'message.opened';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    message_id: string;
    recipient: {
      id: string;
      address: string | null;
      kind: 'to' | 'cc' | 'bcc' | null;
    };
    tags: {
      name: string;
      value: string;
    }[];
    metadata: Record<string, string>;
    /** The first time: by the recipient, or by a machine if `machine` is true. */
    first?: true | undefined;
    /** Number of times within one minute. */
    count: number;
    /** true: a machine did it, not the recipient. */
    machine: boolean;
    /** Reason for the classification as a machine. */
    machine_reason?: 'apple_privacy_proxy' | 'image_proxy' | 'scanner' | 'head_request' | 'every_link' | 'at_delivery' | undefined;
    /** Family of the mail program or browser. */
    client: 'apple_mail' | 'outlook' | 'thunderbird' | 'gmail' | 'yahoo_mail' | 'samsung_mail' | 'edge' | 'firefox' | 'chrome' | 'safari' | 'program' | 'other';
    /** Kind of network that the request came from. The address itself is not stored. */
    network: 'apple' | 'google' | 'microsoft' | 'mail_filter' | 'private' | 'other';
  };
}

export interface MessageClickedEvent {
  id: string;
  object: 'event';
  type: 'message.clicked';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    message_id: string;
    recipient: {
      id: string;
      address: string | null;
      kind: 'to' | 'cc' | 'bcc' | null;
    };
    tags: {
      name: string;
      value: string;
    }[];
    metadata: Record<string, string>;
    /** The first time: by the recipient, or by a machine if `machine` is true. */
    first?: true | undefined;
    /** Number of times within one minute. */
    count: number;
    /** true: a machine did it, not the recipient. */
    machine: boolean;
    /** Reason for the classification as a machine. */
    machine_reason?: 'apple_privacy_proxy' | 'image_proxy' | 'scanner' | 'head_request' | 'every_link' | 'at_delivery' | undefined;
    /** Family of the mail program or browser. */
    client: 'apple_mail' | 'outlook' | 'thunderbird' | 'gmail' | 'yahoo_mail' | 'samsung_mail' | 'edge' | 'firefox' | 'chrome' | 'safari' | 'program' | 'other';
    /** Kind of network that the request came from. The address itself is not stored. */
    network: 'apple' | 'google' | 'microsoft' | 'mail_filter' | 'private' | 'other';
    /** Target of the link. null: the content of the message has expired. */
    url: string | null;
  };
}

export interface MessageComplainedEvent {
  id: string;
  object: 'event';
  type: 'message.complained';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    message_id: string;
    recipient: {
      id: string;
      address: string | null;
      kind: 'to' | 'cc' | 'bcc' | null;
    };
    tags: {
      name: string;
      value: string;
    }[];
    metadata: Record<string, string>;
    shared?: true | undefined;
  };
}

export interface MessageUnsubscribedEvent {
  id: string;
  object: 'event';
  type: 'message.unsubscribed';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    message_id: string;
    recipient: {
      id: string;
      address: string | null;
      kind: 'to' | 'cc' | 'bcc' | null;
    };
    tags: {
      name: string;
      value: string;
    }[];
    metadata: Record<string, string>;
    method: 'one_click' | 'page' | 'mail';
    topic_id?: string | undefined;
  };
}

export interface DomainEvent {
  id: string;
  object: 'event';
  type: 'domain.registered' | 'domain.updated' | 'domain.verified' | 'domain.failed' | 'domain.deleted' | 'domain.dkim_keys_added' | 'domain.dkim_keys_activated' | 'domain.dkim_keys_destroyed' | 'domain.warm_up_started' | 'domain.warm_up_ended' | 'domain.sending_recovered' | 'domain.sending_released';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    domain_id: string;
  };
}

export interface DomainTroubleEvent {
  id: string;
  object: 'event';
  type: 'domain.degraded' | 'domain.sending_warned' | 'domain.sending_slowed' | 'domain.sending_paused';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    domain_id: string;
    reason: string;
  };
}

export interface OrganizationEvent {
  id: string;
  object: 'event';
  type: 'organization.sending_recovered' | 'organization.sending_released';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    organization_id: string;
  };
}

export interface OrganizationTroubleEvent {
  id: string;
  object: 'event';
  type: 'organization.sending_warned' | 'organization.sending_slowed' | 'organization.sending_paused';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    organization_id: string;
    reason: string;
  };
}

export interface ApiKeyEvent {
  id: string;
  object: 'event';
  type: 'api_key.created' | 'api_key.updated' | 'api_key.rotated' | 'api_key.revoked' | 'api_key.expired' | 'api_key.deleted';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    api_key_id: string;
  };
}

export interface TemplateEvent {
  id: string;
  object: 'event';
  type: 'template.created' | 'template.published' | 'template.deleted';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    template_id: string;
  };
}

export interface WebhookEvent {
  id: string;
  object: 'event';
  type: 'webhook.created' | 'webhook.updated' | 'webhook.enabled' | 'webhook.paused' | 'webhook.adopted' | 'webhook.ping' | 'webhook.deleted';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    webhook_id: string;
  };
}

export interface WebhookDisabledEvent {
  id: string;
  object: 'event';
  type: 'webhook.disabled';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    webhook_id: string;
    /** `gone`: it answered 410. `failing`: no delivery succeeded for 5 days. `requested`: by the API. */
    reason: 'gone' | 'failing' | 'requested';
  };
}

export interface SuppressionCreatedEvent {
  id: string;
  object: 'event';
  type: 'suppression.created';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    suppression: {
      id: string;
      address: string | null;
    };
    reason: string;
    scope: 'all' | 'transactional' | 'bulk' | 'topic';
    topic_id?: string | undefined;
    expires_at: string | null;
  };
}

export interface SuppressionDeletedEvent {
  id: string;
  object: 'event';
  type: 'suppression.deleted';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    suppression: {
      id: string;
      address: string | null;
    };
  };
}

export interface ResubscribedEvent {
  id: string;
  object: 'event';
  type: 'suppression.resubscribed';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    suppression: {
      id: string;
      address: string | null;
    };
    topic_id: string | null;
  };
}

export interface QuotaEvent {
  id: string;
  object: 'event';
  type: 'billing.quota_warning' | 'billing.quota_exceeded';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    /** Id of the invoice of the month, which is created after the month ends. */
    invoice_id: string;
    /** A month in UTC, such as 2026-11. */
    period: string;
    quota: {
      plan: string;
      limit: number;
      used: number;
    };
  };
}

export interface InvoiceClosedEvent {
  id: string;
  object: 'event';
  type: 'billing.invoice_closed';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    invoice_id: string;
    /** A month in UTC, such as 2026-11. */
    period: string;
    currency: string;
    /** In the currency’s minor unit; a negative amount is a credit. */
    total: number;
  };
}

export interface AuditCheckpointEvent {
  id: string;
  object: 'event';
  type: 'audit.checkpoint';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    organization_id: string;
    /** Name of the tree of this organization’s events. */
    origin: string;
    /** Number of events that it covers, from the first. */
    size: number;
    /** Root of the Merkle tree of these events (RFC 9162), in base64. */
    root_hash: string;
    /** The signed note (C2SP tlog-checkpoint). Keep it to be able to check later that no earlier event was changed. */
    note: string;
  };
}

export interface ErasureCompletedEvent {
  id: string;
  object: 'event';
  type: 'erasure.completed';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    erasure_id: string;
    erased: {
      /** Messages, each with its addresses, subject, bodies, attachments, tags and metadata. */
      messages: number;
      /** Texts of replies and reports from mail servers. */
      replies: number;
      /** Addresses of clicked links. */
      links: number;
      /** Addresses and notes of suppressions. */
      suppression_evidence: number;
      /** Attempts of webhook deliveries, with their responses. */
      webhook_tries: number;
      /** Captured mail in the inbox. */
      captured_mail: number;
      /** Contact addresses of the organization and of auditors. */
      contacts: number;
    };
  };
}

export interface TopicEvent {
  id: string;
  object: 'event';
  type: 'topic.created' | 'topic.updated' | 'topic.deleted';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    topic_id: string;
  };
}

export interface InboundReceivedEvent {
  id: string;
  object: 'event';
  type: 'inbound.received';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    /** Id of the received message. */
    inbound_id: string;
    domain_id: string;
    envelope: {
      /** Return path. Empty for a delivery report. */
      from: string;
      to: string;
    } | null;
    /** Senders in the header. Without `dmarc: pass` they can be forged. */
    from: ({
      address: string;
      name: string | null;
    })[];
    subject: string | null;
    attachments: ({
      filename: string | null;
      content_type: string;
      size_bytes: number;
      /** Name that `cid:` links in the html have for it. */
      content_id: string | null;
      /** Downloads it without an API key. Absent in lists and in the feed: get it with `GET /v1/inbound/{id}`, or from a webhook. */
      url?: string | undefined;
      /** Time until which the URL works. */
      url_expires_at?: string | undefined;
    })[];
    /** Size of the message as it was received. */
    size_bytes: number;
    /** Results of the checks of the sender. `dmarc: pass` means that the sender’s domain is genuine. */
    verdicts: {
      spf: 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'policy' | 'temperror' | 'permerror';
      dkim: 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'policy' | 'temperror' | 'permerror';
      dmarc: 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'policy' | 'temperror' | 'permerror';
      arc: 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'policy' | 'temperror' | 'permerror';
    };
    /** true: DMARC failed, and the organization marks such mail. */
    marked: boolean;
    /** true: a program wrote it, such as an out-of-office reply. Do not reply to it. */
    automatic: boolean;
    /** Action of the route that took it; `webhook` if no route matched. */
    action: 'webhook' | 'store' | 'forward';
    /** null: no inbound route matched. */
    route_id: string | null;
    /** Id of your message that it answers. */
    in_reply_to_message_id: string | null;
    to?: ({
      address: string;
      name: string | null;
    })[] | undefined;
    cc?: ({
      address: string;
      name: string | null;
    })[] | undefined;
    reply_to?: ({
      address: string;
      name: string | null;
    })[] | undefined;
    /** `Date` as written. */
    date?: string | null | undefined;
    headers?: {
      name: string;
      value: string;
    }[] | undefined;
    text?: string | null | undefined;
    /** The html as received. It can contain scripts: show `sanitized_html` instead. */
    html?: string | null | undefined;
    /** The html without scripts, forms and active content. */
    sanitized_html?: string | null | undefined;
    /** The text without quoted parts and the signature. */
    reply?: string | null | undefined;
    /** Problems that kept parts of the mail from being read. Empty: everything was read. */
    problems?: string[] | undefined;
    /** `Message-ID`, with angle brackets. */
    internet_message_id?: string | null | undefined;
    /** Only in posts to webhooks, which have the whole mail. `removed`: it was erased or has expired. `hidden`: the key of the webhook lacks `read`. */
    contents?: 'included' | 'removed' | 'hidden' | undefined;
    /** Fields that are too large for a post, and null or empty: get them with `GET /v1/inbound/{id}`. */
    left_out?: ('headers' | 'text' | 'html' | 'sanitized_html')[] | undefined;
  };
}

export interface InboundForwardedEvent {
  id: string;
  object: 'event';
  type: 'inbound.forwarded';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    inbound_id: string;
    domain_id: string;
    smtp: {
      code: number;
      enhanced: string | null;
      text: string | null;
      mx: string | null;
      tls: string | null;
      cipher: string | null;
      policy: 'opportunistic' | 'required' | 'mta-sts' | 'dane' | null;
      address: string | null;
      stage: 'connect' | 'session' | 'mail' | 'recipient' | 'content' | null;
    };
    attempt: number;
  };
}

export interface InboundForwardFailedEvent {
  id: string;
  object: 'event';
  type: 'inbound.forward_failed';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    inbound_id: string;
    domain_id: string;
    smtp?: {
      code: number;
      enhanced: string | null;
      text: string | null;
      mx: string | null;
      tls: string | null;
      cipher: string | null;
      policy: 'opportunistic' | 'required' | 'mta-sts' | 'dane' | null;
      address: string | null;
      stage: 'connect' | 'session' | 'mail' | 'recipient' | 'content' | null;
    } | undefined;
    reason: 'not_confirmed' | 'route_changed' | 'address_erased' | 'suppressed' | 'domain_removed' | 'organization_suspended' | 'automatic' | 'loop' | 'dmarc_failed' | 'malformed' | 'content_removed' | 'rate_limited' | 'rejected' | 'expired' | 'bounced';
  };
}

export interface InboundRouteEvent {
  id: string;
  object: 'event';
  type: 'inbound_route.created' | 'inbound_route.updated' | 'inbound_route.deleted';
  timestamp: string;
  environment: 'live' | 'test' | null;
  sequence: number;
  data: {
    inbound_route_id: string;
  };
}

export interface Message {
  id: string;
  object: 'message';
  message_id: string;
  status: 'accepted' | 'scheduled' | 'sending' | 'delivered' | 'deferred' | 'bounced' | 'failed' | 'suppressed' | 'cancelled' | 'expired';
  environment: 'live' | 'test';
  created_at: string;
  partial: boolean;
  domain_id: string;
  api_key_id: string;
  stream: 'transactional' | 'bulk';
  size_bytes: number;
  expires_at: string;
  /** Template that the message was rendered from. null: no template. */
  template: {
    id: string;
    version: number;
  } | null;
  scheduled_at: string | null;
  from: string | null;
  subject: string | null;
  tags: {
    name: string;
    value: string;
  }[];
  metadata: Record<string, string>;
  /** `expired`: the content was removed when its retention ended, together with sender, recipients, tags and metadata. `erased`: it was removed because a recipient was erased. null: it cannot be read at the moment: try again later. */
  content: 'stored' | 'expired' | 'erased' | null;
  topic_id: string | null;
  attempts: number;
  /** Id of the message that this one sends again. null: none. */
  resend_of: string | null;
  /** Tracking that was applied to the html. */
  tracking: {
    /** true: add an invisible image to the html. Loading it creates the event `message.opened`. */
    opens: boolean;
    /** true: route links in the html through this service. Following one creates the event `message.clicked`. */
    clicks: boolean;
  };
  recipients: ({
    id: string;
    address: string | null;
    kind: 'to' | 'cc' | 'bcc';
    status: 'accepted' | 'scheduled' | 'sending' | 'delivered' | 'deferred' | 'bounced' | 'failed' | 'suppressed' | 'cancelled' | 'expired';
    complained: boolean;
    unsubscribed: boolean;
    /** true: a person opened it. Always false without open tracking. */
    opened: boolean;
    /** true: a person followed a link in it. Always false without click tracking. */
    clicked: boolean;
    reason: string | null;
    category: 'no_mailbox' | 'no_domain' | 'mailbox_disabled' | 'mailbox_full' | 'too_large' | 'content_rejected' | 'spam' | 'policy' | 'reputation' | 'authentication' | 'greylisted' | 'rate_limited' | 'sender_rejected' | 'relay_denied' | 'system' | 'network' | 'protocol' | 'unknown' | null;
    next_attempt_at: string | null;
    /** Reason for which a due recipient is held. null: it is not held. */
    held: {
      reason: 'domain_slowed' | 'domain_paused' | 'organization_slowed' | 'organization_paused' | 'bulk_mail_paused' | 'warm_up' | 'organization_suspended';
      since: string;
      /** Latest time of the next check. */
      until: string;
    } | null;
    smtp: {
      code: number;
      enhanced: string | null;
      text: string | null;
      mx: string | null;
      tls: string | null;
      cipher: string | null;
      policy: 'opportunistic' | 'required' | 'mta-sts' | 'dane' | null;
      address: string | null;
      stage: 'connect' | 'session' | 'mail' | 'recipient' | 'content' | null;
    } | null;
    /** Id of the message that was sent to this recipient instead. null: not sent again. */
    resent_as: string | null;
    updated_at: string;
  })[];
}

export interface ResentMessage extends SentMessage {
  /** Id of the message that was sent again. */
  resend_of: string;
  /** true: it was sent again before, and this request sent nothing. */
  replayed: boolean;
}

export interface CreatedApiKey extends ApiKey {
  key: string;
}

export interface ApiKey {
  id: string;
  object: 'api_key';
  name: string;
  domain_id: string;
  permissions: ('send' | 'read' | 'manage' | 'admin')[];
  environment: 'live' | 'test';
  /** Requests per minute by kind. If `rate_limit_ceilings` of the organization are lower, they apply instead: the header `RateLimit-Limit` has the effective limit. */
  rate_limits: {
    send: number;
    read: number;
    manage: number;
  };
  allowed_cidrs: string[];
  expires_at: string | null;
  created_at: string;
  last_used_at: string | null;
  /** IP address of the last request with this key. */
  last_used_address: string | null;
  last4: string;
  /** `revoked`: ended permanently, by request or because its domain was deleted. */
  status: 'active' | 'expired' | 'revoked';
  earlier_secrets: ({
    expires_at: string;
    last_used_at: string | null;
    last4: string;
  })[];
}

export type ApiKeyHistoryEntry = {
  id: string;
  object: 'api_key_history_entry';
  type: 'api_key.created';
  at: string;
  actor: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or member, or name of the worker. */
    id: string | null;
    /** Number of the secret that was used, from 1; each rotation creates the next one. null: the actor is not an API key. */
    secret: number | null;
    /** Last four characters of that secret. */
    secret_last4: string | null;
    /** Session of the member. null: the actor is not a member. */
    session_id: string | null;
  };
  /** IP address of the request. Only auditors and live keys with `admin` see it, for one year. Otherwise null. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log. null: not in the audit log yet. */
  leaf_index: number | null;
  details: {
    name: string;
    domain_id: string;
    permissions: ('send' | 'read' | 'manage' | 'admin')[];
    environment: 'live' | 'test';
    rate_limits: {
      send: number;
      read: number;
      manage: number;
    };
    allowed_cidrs: string[];
    expires_at: string | null;
    last4: string;
  };
} | {
  id: string;
  object: 'api_key_history_entry';
  type: 'api_key.updated';
  at: string;
  actor: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or member, or name of the worker. */
    id: string | null;
    /** Number of the secret that was used, from 1; each rotation creates the next one. null: the actor is not an API key. */
    secret: number | null;
    /** Last four characters of that secret. */
    secret_last4: string | null;
    /** Session of the member. null: the actor is not a member. */
    session_id: string | null;
  };
  /** IP address of the request. Only auditors and live keys with `admin` see it, for one year. Otherwise null. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log. null: not in the audit log yet. */
  leaf_index: number | null;
  details: {
    name?: {
      from: string;
      to: string;
    } | undefined;
    permissions?: {
      from: ('send' | 'read' | 'manage' | 'admin')[];
      to: ('send' | 'read' | 'manage' | 'admin')[];
    } | undefined;
    rate_limits?: {
      from: {
        send: number;
        read: number;
        manage: number;
      };
      to: {
        send: number;
        read: number;
        manage: number;
      };
    } | undefined;
    allowed_cidrs?: {
      from: string[];
      to: string[];
    } | undefined;
    expires_at?: {
      from: string | null;
      to: string | null;
    } | undefined;
  };
} | {
  id: string;
  object: 'api_key_history_entry';
  type: 'api_key.rotated';
  at: string;
  actor: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or member, or name of the worker. */
    id: string | null;
    /** Number of the secret that was used, from 1; each rotation creates the next one. null: the actor is not an API key. */
    secret: number | null;
    /** Last four characters of that secret. */
    secret_last4: string | null;
    /** Session of the member. null: the actor is not a member. */
    session_id: string | null;
  };
  /** IP address of the request. Only auditors and live keys with `admin` see it, for one year. Otherwise null. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log. null: not in the audit log yet. */
  leaf_index: number | null;
  details: {
    /** Last four characters of the new secret. */
    last4: string;
    previous_last4: string;
    /** Time when the grace period of the previous secret ends. */
    previous_key_expires_at: string;
    /** true: all earlier secrets ended immediately. */
    revoke_previous: boolean;
  };
} | {
  id: string;
  object: 'api_key_history_entry';
  type: 'api_key.revoked';
  at: string;
  actor: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or member, or name of the worker. */
    id: string | null;
    /** Number of the secret that was used, from 1; each rotation creates the next one. null: the actor is not an API key. */
    secret: number | null;
    /** Last four characters of that secret. */
    secret_last4: string | null;
    /** Session of the member. null: the actor is not a member. */
    session_id: string | null;
  };
  /** IP address of the request. Only auditors and live keys with `admin` see it, for one year. Otherwise null. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log. null: not in the audit log yet. */
  leaf_index: number | null;
  details: Record<string, never>;
} | {
  id: string;
  object: 'api_key_history_entry';
  type: 'api_key.expired';
  at: string;
  actor: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or member, or name of the worker. */
    id: string | null;
    /** Number of the secret that was used, from 1; each rotation creates the next one. null: the actor is not an API key. */
    secret: number | null;
    /** Last four characters of that secret. */
    secret_last4: string | null;
    /** Session of the member. null: the actor is not a member. */
    session_id: string | null;
  };
  /** IP address of the request. Only auditors and live keys with `admin` see it, for one year. Otherwise null. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log. null: not in the audit log yet. */
  leaf_index: number | null;
  details: {
    expires_at: string | null;
  };
} | {
  id: string;
  object: 'api_key_history_entry';
  type: 'api_key.deleted';
  at: string;
  actor: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or member, or name of the worker. */
    id: string | null;
    /** Number of the secret that was used, from 1; each rotation creates the next one. null: the actor is not an API key. */
    secret: number | null;
    /** Last four characters of that secret. */
    secret_last4: string | null;
    /** Session of the member. null: the actor is not a member. */
    session_id: string | null;
  };
  /** IP address of the request. Only auditors and live keys with `admin` see it, for one year. Otherwise null. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log. null: not in the audit log yet. */
  leaf_index: number | null;
  details: Record<string, never>;
} | {
  id: string;
  object: 'api_key_history_entry';
  type: 'api_key.change_refused';
  at: string;
  actor: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or member, or name of the worker. */
    id: string | null;
    /** Number of the secret that was used, from 1; each rotation creates the next one. null: the actor is not an API key. */
    secret: number | null;
    /** Last four characters of that secret. */
    secret_last4: string | null;
    /** Session of the member. null: the actor is not a member. */
    session_id: string | null;
  };
  /** IP address of the request. Only auditors and live keys with `admin` see it, for one year. Otherwise null. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log. null: not in the audit log yet. */
  leaf_index: number | null;
  details: {
    change: 'update' | 'rotate' | 'revoke' | 'delete';
    /** Code of the error response. */
    code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'nothing_to_resend' | 'recipient_suppressed' | 'content_removed' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_inbound_routes' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
  };
} | {
  id: string;
  object: 'api_key_history_entry';
  type: 'domain.deleted';
  at: string;
  actor: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or member, or name of the worker. */
    id: string | null;
    /** Number of the secret that was used, from 1; each rotation creates the next one. null: the actor is not an API key. */
    secret: number | null;
    /** Last four characters of that secret. */
    secret_last4: string | null;
    /** Session of the member. null: the actor is not a member. */
    session_id: string | null;
  };
  /** IP address of the request. Only auditors and live keys with `admin` see it, for one year. Otherwise null. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log. null: not in the audit log yet. */
  leaf_index: number | null;
  details: {
    domain_id: string;
  };
};

export interface ApiKeySecret {
  object: 'api_key_secret';
  /** 1 for the first secret of the key, one more with each rotation. */
  number: number;
  last4: string;
  /** `current`: the newest secret. `grace`: replaced, but works until `ends_at`. `ended`: no longer works. */
  status: 'current' | 'grace' | 'ended';
  created_at: string;
  created_by: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or member, or name of the worker. */
    id: string | null;
    /** Number of the secret that was used, from 1; each rotation creates the next one. null: the actor is not an API key. */
    secret: number | null;
    /** Last four characters of that secret. */
    secret_last4: string | null;
    /** Session of the member. null: the actor is not a member. */
    session_id: string | null;
  };
  /** IP address of the request. Only auditors and live keys with `admin` see it, for one year. Otherwise null. */
  address: string | null;
  request_id: string | null;
  /** Time when the secret ended or will end. null: no end is set. */
  ends_at: string | null;
  end_reason: 'rotated' | 'key_expired' | 'key_revoked' | 'key_deleted' | 'domain_deleted' | null;
  /** Number of messages that were accepted with this secret. */
  sends: number;
  /** Number of recipients of those messages. */
  recipients: number;
  first_send_at: string | null;
  last_send_at: string | null;
}

export interface RotatedApiKey extends CreatedApiKey {
  previous_key_expires_at: string;
}

export interface Domain {
  id: string;
  object: 'domain';
  name: string;
  /** `degraded`: a required record is missing or wrong. The domain can still send until `fails_at`. `failed`: the domain cannot send until it is verified again. */
  status: 'pending' | 'verified' | 'degraded' | 'failed';
  /** How and when the domain was verified. null: the domain cannot send. */
  verification: {
    method: 'capture' | 'dns';
    verified_at: string;
  } | null;
  /** Time when a degraded domain fails unless its records are correct again. */
  fails_at: string | null;
  /** Time of the next automatic check. null: the domain is checked only when you call `verify`. */
  next_check_at: string | null;
  records: ({
    purpose: 'ownership' | 'dkim' | 'return_path' | 'tracking' | 'spf' | 'dmarc' | 'mx';
    type: 'TXT' | 'CNAME' | 'MX';
    /** Full host name of the record. If your DNS provider appends the domain, enter only the part before it. */
    name: string;
    /** Value to publish. */
    value: string;
    /** true: the domain is verified only while this record is valid. */
    required: boolean;
    /** `not_needed`: mail is captured on this machine, so the record has no effect. */
    status: 'pending' | 'verified' | 'not_needed';
    /** Result of the DNS check. `unknown`: not checked yet, or the DNS did not answer. `include_broken`: your record is correct, but the SPF record that it includes is broken; the operator of this service must repair it. */
    state: 'valid' | 'missing' | 'invalid' | 'include_broken' | 'unknown';
    /** Problem with the record and how to fix it. null: no problem. */
    problem: string | null;
    /** Purpose of the record, and hints for publishing it. */
    advice: string;
    /** Values found in the DNS, shortened and without mailboxes. */
    seen: string[];
    /** Time when this state was first found, or of the last requested check. */
    checked_at: string | null;
  })[];
  dkim: ({
    /** `pending`: its RSA record has not been found in the DNS yet. `active`: signs mail. `retired`: no longer signs. */
    status: 'pending' | 'active' | 'retired';
    hosts: string[];
    /** Selectors of the keys that sign: those whose records were found in the DNS. */
    signing: string[];
    added_at: string | null;
    activated_at: string | null;
    /** Keep the records of retired keys until then: receivers verify mail in transit with them. */
    safe_to_remove_at: string | null;
    /** true: you can remove these records now. */
    removable: boolean;
  })[];
  /** Results of the last DNS check. */
  authentication: {
    spf: 'valid' | 'missing' | 'invalid' | 'include_broken' | 'unknown';
    dkim: 'valid' | 'missing' | 'invalid' | 'include_broken' | 'unknown';
    dmarc: 'valid' | 'missing' | 'invalid' | 'include_broken' | 'unknown';
  };
  /** How the sender appears on recipient pages. null: by the name of the domain. */
  branding: {
    name: string | null;
    color: string | null;
    logo_url: string | null;
  } | null;
  /** Default tracking of mail from this domain. A message can override it. */
  tracking: {
    /** true: add an invisible image to the html. Loading it creates the event `message.opened`. */
    opens: boolean;
    /** true: route links in the html through this service. Following one creates the event `message.clicked`. */
    clicks: boolean;
  };
  /** Receiving mail that people send to the domain. */
  inbound: {
    /** true: mail to addresses of the domain is received here. Publish its MX record, which is then among `records`. The service must have a `BOUNCE_DOMAIN`. */
    mx: boolean;
  };
  created_at: string;
}

export interface Template extends ListedTemplate {
  /** Content of the draft, or of the newest version if there is no draft. */
  content: TemplateContent;
}

export interface TemplateContent {
  subject: string;
  html: string;
  /** null: the text is generated from the html. */
  text: string | null;
  preheader: string | null;
  from: string | null;
  reply_to: string[];
  layout: string | null;
  format: 'html' | 'mjml';
  inline_css: boolean;
  variables: ({
    name: string;
    type: 'string' | 'number' | 'boolean' | 'date' | 'url' | 'list' | 'object';
    required: boolean;
    default?: unknown | undefined;
    example?: unknown | undefined;
    description?: string | undefined;
  })[];
  locales: Record<string, {
    subject: string;
    html: string;
    /** null: the text is generated from the html. */
    text: string | null;
    preheader: string | null;
  }>;
}

export interface ListedTemplate {
  object: 'template';
  id: string;
  alias: string;
  name: string;
  description: string | null;
  status: 'draft' | 'published';
  /** Version that messages use if they do not name one. null: not published yet. */
  published_version: number | null;
  /** true: there are unpublished changes. */
  has_draft: boolean;
  created_at: string;
  updated_at: string;
}

export interface PublishedTemplateVersion extends ListedTemplateVersion {
  /** Analysis of the template rendered with its example values. null: a variable has no example. */
  analysis: TemplateAnalysis | null;
}

export interface TemplateAnalysis {
  object: 'analysis';
  score: number;
  verdict: 'pass' | 'warn' | 'fail';
  findings: TemplateFinding[];
  size_bytes: number;
}

export interface TemplateFinding extends Finding {
  /** Field of the template, such as `html` or `locales.de.html`. null: unknown. */
  source: {
    field: string;
    line: number;
    column: number;
  } | null;
}

export interface ListedTemplateVersion {
  object: 'template_version';
  template_id: string;
  version: number;
  /** true: messages that do not name a version use this one. */
  published: boolean;
  published_at: string;
  /** The publisher: `key:` and the id of the API key, `member:` and the id of the member, or `operator`. */
  published_by: string;
  /** SHA-256 of the content, in hex. */
  content_digest: string;
}

export interface TemplateVersion extends ListedTemplateVersion {
  content: TemplateContent;
}

export interface TemplateDiff {
  object: 'template_diff';
  template_id: string;
  /** null: the draft. */
  from: number | null;
  to: number;
  changes: ({
    /** Path of the changed field: `html`, `locales.de.subject`, `variables`. */
    field: string;
    /** Value in the version `from`. null: the field is not set. */
    from: unknown;
    /** Value in the version `to`. null: the field is not set. */
    to: unknown;
    /** The changed lines, with three lines around each. null: the text has one line, or too many lines differ. */
    lines: ({
      kind: 'added' | 'removed' | 'same';
      text: string;
    })[] | null;
  })[];
}

export interface RenderedTemplate {
  object: 'rendered_template';
  template_id: string;
  /** null: the draft. */
  version: number | null;
  subject: string;
  html: string;
  /** The text of the template, or the text generated from the html. null: the html contains no words. */
  text: string | null;
  from: string | null;
  reply_to: string[];
  /** Names of sent values that the template does not declare. */
  unused_variables: string[];
  /** Reasons why the draft cannot be published. Empty: it can be published, or a version was rendered. */
  publish_problems: string[];
  analysis: TemplateAnalysis;
}

export interface CreatedWebhook extends Webhook {
  secret: string;
  /** Public key (ECDSA, in base64) that verifies posts in the formats of SendGrid. null: another format. */
  verification_key: string | null;
}

export interface Webhook {
  id: string;
  object: 'webhook';
  url: string;
  events: string[];
  description: string | null;
  environment: 'live' | 'test';
  /** `paused`: the key in `owned_by` has ended. Events wait until someone adopts the webhook. */
  status: 'enabled' | 'disabled' | 'paused';
  /** The actor who created the webhook, or last enabled it, adopted it or changed its URL. If this is a key without `read`, posts contain no mail contents. */
  owned_by: {
    type: 'key' | 'member' | 'operator' | 'service';
    id: string | null;
  };
  /** `gone`: it answered 410. `failing`: no delivery succeeded for 5 days. `requested`: by the API. */
  disabled_reason: 'gone' | 'failing' | 'requested' | null;
  /** Time since which every attempt has failed. After 5 days the webhook is disabled. null: the last attempt succeeded, or there was none. */
  failing_since: string | null;
  /** Creation time of the oldest pending delivery, which waits for its first post or a retry. null: none waits. */
  waiting_since: string | null;
  filters: {
    /** Only events of these sending domains and of their messages. Empty: all. */
    domain_ids: string[];
    /** Only events of messages with one of these tags. Empty: all. */
    tags: string[];
  };
  /** Shape and signature of the posts. */
  format: 'outbox' | 'sendgrid' | 'resend' | 'postmark_inbound' | 'sendgrid_inbound';
  /** Names of the custom headers. Their values are not shown. */
  header_names: string[];
  created_at: string;
}

export interface RotatedWebhook extends CreatedWebhook {
  previous_secret_expires_at: string;
}

export interface WebhookPing {
  object: 'webhook_ping';
  webhook_id: string;
  event_id: string;
  /** Id of the delivery, which shows how the endpoint answered. */
  delivery_id: string;
}

export interface WebhookDelivery {
  id: string;
  object: 'webhook_delivery';
  webhook_id: string;
  event_id: string;
  event_type: string;
  /** Recipient that the event is about. null: the event is not about a recipient. */
  recipient: {
    id: string;
    address: string | null;
    kind: 'to' | 'cc' | 'bcc' | null;
  } | null;
  /** Replay that the delivery belongs to. null: no replay. */
  replay_id: string | null;
  status: 'pending' | 'delivered' | 'failed';
  created_at: string;
  next_attempt_at: string | null;
  attempts: ({
    at: string;
    request: {
      url: string;
      /** Headers of the request, without the signature. Values of custom headers are shown as `[hidden]`. */
      headers: Record<string, string>;
      body_bytes: number;
      /** SHA-256 of the body that was posted, in hex. */
      body_sha256: string;
    };
    /** Status of the response. null: there was no response. */
    status: number | null;
    duration_ms: number;
    /** First 1 kB of the response, or the reason for which there was no response. */
    response: string;
  })[];
}

export interface ShownWebhookDelivery extends WebhookDelivery {
  /** The exact body as it would be posted now. Values that were erased or have expired are null, so its SHA-256 can differ from the one of earlier attempts. For received mail: the event as in the feed, without the contents that are posted too. They are at `GET /v1/inbound/{id}`. */
  body: string;
}

export interface WebhookReplay {
  id: string;
  object: 'webhook_replay';
  webhook_id: string;
  /** `completed`: all deliveries of the replay were created. */
  status: 'running' | 'completed' | 'cancelled';
  /** null: the replay started at a cursor. */
  since: string | null;
  until: string;
  /** Number of deliveries in each state so far. */
  deliveries: {
    pending: number;
    delivered: number;
    failed: number;
  };
  created_at: string;
  ended_at: string | null;
}

export interface Suppression {
  id: string;
  object: 'suppression';
  /** null: the address was erased. */
  address: string | null;
  environment: 'live' | 'test';
  status: 'active' | 'expired' | 'removed';
  /** Mail that the active entries block together. */
  scope: 'all' | 'transactional' | 'bulk' | 'topic';
  /** Reason of the entry that blocks the most. `expires_at` belongs to this entry. */
  reason: 'bounce' | 'complaint' | 'unsubscribe' | 'manual' | 'import';
  expires_at: string | null;
  /** All entries, oldest first, including removed and expired ones. */
  entries: ({
    reason: 'bounce' | 'complaint' | 'unsubscribe' | 'manual' | 'import';
    scope: 'all' | 'transactional' | 'bulk' | 'topic';
    /** Topic, if the scope is `topic`. Otherwise null. */
    topic_id: string | null;
    status: 'active' | 'expired' | 'removed';
    /** Reply of the mail server, or your note. */
    evidence: string | null;
    /** Message that caused the entry. */
    message_id: string | null;
    recipient_id: string | null;
    added_at: string;
    expires_at: string | null;
    removed_at: string | null;
  })[];
  created_at: string;
}

export interface Topic {
  id: string;
  object: 'topic';
  name: string;
  description: string | null;
  default: 'in' | 'out';
  domain_id: string | null;
  created_at: string;
}

export interface TopicOptIns {
  object: 'topic_opt_ins';
  topic_id: string;
  /** Number of addresses that opted in now. */
  added: number;
  /** Number of addresses that had already opted in. Their new time and evidence are recorded anyway. */
  unchanged: number;
  /** One entry per address, in the order of `addresses`, without duplicates. */
  data: {
    address: string;
    /** For each stream: true if another suppression still blocks mail about the topic to this address. */
    suppressed: {
      transactional: boolean;
      bulk: boolean;
    };
  }[];
}

export interface TopicOptIn {
  object: 'topic_opt_in';
  topic_id: string;
  /** null: the address was erased. */
  address: string | null;
  /** `recipient`: they opted in on a page of this service. `sender`: you recorded it. */
  by: 'recipient' | 'sender';
  /** Evidence that you sent with the opt-in. */
  evidence: string | null;
  /** Message whose link the recipient used to opt in. */
  message_id: string | null;
  recipient_id: string | null;
  opted_in_at: string;
}

export interface ListedInboundMessage {
  id: string;
  object: 'inbound_message';
  domain_id: string;
  environment: 'live' | 'test';
  received_at: string;
  /** null: no route forwards it. */
  forward: {
    /** `deferred`: another attempt follows. `failed`: the message is stored, and is not forwarded any more. */
    status: 'pending' | 'sending' | 'deferred' | 'forwarded' | 'failed';
    attempts: number;
    /** Why it was deferred or failed. `unknown`: a server may have accepted it, but the reply was lost. */
    reason: 'not_confirmed' | 'route_changed' | 'address_erased' | 'suppressed' | 'domain_removed' | 'organization_suspended' | 'automatic' | 'loop' | 'dmarc_failed' | 'malformed' | 'content_removed' | 'rate_limited' | 'rejected' | 'expired' | 'bounced' | 'deferred' | 'unknown' | 'fault' | null;
    next_attempt_at: string | null;
    /** Last reply. null: no server has replied. */
    smtp: {
      code: number;
      enhanced: string | null;
      text: string | null;
      mx: string | null;
      tls: string | null;
      cipher: string | null;
      policy: 'opportunistic' | 'required' | 'mta-sts' | 'dane' | null;
      address: string | null;
      stage: 'connect' | 'session' | 'mail' | 'recipient' | 'content' | null;
    } | null;
  } | null;
  envelope: {
    /** Return path. Empty for a delivery report. */
    from: string;
    to: string;
  } | null;
  /** Senders in the header. Without `dmarc: pass` they can be forged. */
  from: ({
    address: string;
    name: string | null;
  })[];
  subject: string | null;
  attachments: ({
    filename: string | null;
    content_type: string;
    size_bytes: number;
    /** Name that `cid:` links in the html have for it. */
    content_id: string | null;
    /** Downloads it without an API key. Absent in lists and in the feed: get it with `GET /v1/inbound/{id}`, or from a webhook. */
    url?: string | undefined;
    /** Time until which the URL works. */
    url_expires_at?: string | undefined;
  })[];
  /** Size of the message as it was received. */
  size_bytes: number;
  /** Results of the checks of the sender. `dmarc: pass` means that the sender’s domain is genuine. */
  verdicts: {
    spf: 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'policy' | 'temperror' | 'permerror';
    dkim: 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'policy' | 'temperror' | 'permerror';
    dmarc: 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'policy' | 'temperror' | 'permerror';
    arc: 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'policy' | 'temperror' | 'permerror';
  };
  /** true: DMARC failed, and the organization marks such mail. */
  marked: boolean;
  /** true: a program wrote it, such as an out-of-office reply. Do not reply to it. */
  automatic: boolean;
  /** Action of the route that took it; `webhook` if no route matched. */
  action: 'webhook' | 'store' | 'forward';
  /** null: no inbound route matched. */
  route_id: string | null;
  /** Id of your message that it answers. */
  in_reply_to_message_id: string | null;
}

export interface InboundMessage extends ListedInboundMessage {
  to: ({
    address: string;
    name: string | null;
  })[];
  cc: ({
    address: string;
    name: string | null;
  })[];
  reply_to: ({
    address: string;
    name: string | null;
  })[];
  /** `Message-ID`, with angle brackets. */
  message_id: string | null;
  /** `Date` as written. */
  date: string | null;
  headers: {
    name: string;
    value: string;
  }[];
  text: string | null;
  /** The html as received. It can contain scripts: show `sanitized_html` instead. */
  html: string | null;
  /** The html without scripts, forms and active content. */
  sanitized_html: string | null;
  /** The text without quoted parts and the signature. */
  reply: string | null;
  /** Problems that kept parts of the mail from being read. Empty: everything was read. */
  problems: string[];
}

export interface InboundRoute {
  id: string;
  object: 'inbound_route';
  domain_id: string;
  match: string;
  action: 'webhook' | 'store' | 'forward' | 'refuse';
  /** null: all webhooks that subscribe to `inbound.received`. */
  webhook_id: string | null;
  /** Address that mail is forwarded to. null: none, or it was erased. */
  forward_to: string | null;
  /** `pending`: the address has not confirmed yet, and mail is not forwarded. null: there is no address. */
  forward_status: 'pending' | 'confirmed' | null;
  order: number;
  created_at: string;
}

export interface Stats {
  object: 'stats';
  from: string;
  to: string;
  totals: {
    accepted?: number | undefined;
    delivered?: number | undefined;
    deferred?: number | undefined;
    bounced?: number | undefined;
    failed?: number | undefined;
    expired?: number | undefined;
    suppressed?: number | undefined;
    cancelled?: number | undefined;
    opened?: number | undefined;
    opens?: number | undefined;
    clicked?: number | undefined;
    clicks?: number | undefined;
    machine_opened?: number | undefined;
    machine_clicked?: number | undefined;
    complained?: number | undefined;
    unsubscribed?: number | undefined;
    /** Values of the requested metrics. */
    rates: {
      /** `delivered` divided by `accepted`. null: `accepted` is 0. */
      delivered?: number | null | undefined;
      /** `deferred` divided by `accepted`. null: `accepted` is 0. */
      deferred?: number | null | undefined;
      /** `bounced` divided by `accepted`. null: `accepted` is 0. */
      bounced?: number | null | undefined;
      /** `opened` divided by `delivered`. null: `delivered` is 0. */
      opened?: number | null | undefined;
      /** `clicked` divided by `delivered`. null: `delivered` is 0. */
      clicked?: number | null | undefined;
      /** `complained` divided by `delivered`. null: `delivered` is 0. */
      complained?: number | null | undefined;
      /** `unsubscribed` divided by `delivered`. null: `delivered` is 0. */
      unsubscribed?: number | null | undefined;
    };
    /** Milliseconds from acceptance, or from `scheduled_at`, to delivery. null: nothing was delivered. */
    latency_ms: {
      p50: number;
      p90: number;
      p99: number;
    } | null;
  };
  data: ({
    start: string;
    /** Value of the `group_by` dimension, or an object with both values. `(other)`: all remaining groups together. */
    group?: string | Record<string, string> | undefined;
    accepted?: number | undefined;
    delivered?: number | undefined;
    deferred?: number | undefined;
    bounced?: number | undefined;
    failed?: number | undefined;
    expired?: number | undefined;
    suppressed?: number | undefined;
    cancelled?: number | undefined;
    opened?: number | undefined;
    opens?: number | undefined;
    clicked?: number | undefined;
    clicks?: number | undefined;
    machine_opened?: number | undefined;
    machine_clicked?: number | undefined;
    complained?: number | undefined;
    unsubscribed?: number | undefined;
    /** Values of the requested metrics. */
    rates: {
      /** `delivered` divided by `accepted`. null: `accepted` is 0. */
      delivered?: number | null | undefined;
      /** `deferred` divided by `accepted`. null: `accepted` is 0. */
      deferred?: number | null | undefined;
      /** `bounced` divided by `accepted`. null: `accepted` is 0. */
      bounced?: number | null | undefined;
      /** `opened` divided by `delivered`. null: `delivered` is 0. */
      opened?: number | null | undefined;
      /** `clicked` divided by `delivered`. null: `delivered` is 0. */
      clicked?: number | null | undefined;
      /** `complained` divided by `delivered`. null: `delivered` is 0. */
      complained?: number | null | undefined;
      /** `unsubscribed` divided by `delivered`. null: `delivered` is 0. */
      unsubscribed?: number | null | undefined;
    };
    /** Milliseconds from acceptance, or from `scheduled_at`, to delivery. null: nothing was delivered. */
    latency_ms: {
      p50: number;
      p90: number;
      p99: number;
    } | null;
  })[];
  /** With `group_by`: each group over the whole period, largest number of accepted recipients first. */
  groups?: ({
    /** Value of the `group_by` dimension, or an object with both values. `(other)`: all remaining groups together. */
    group?: string | Record<string, string> | undefined;
    accepted?: number | undefined;
    delivered?: number | undefined;
    deferred?: number | undefined;
    bounced?: number | undefined;
    failed?: number | undefined;
    expired?: number | undefined;
    suppressed?: number | undefined;
    cancelled?: number | undefined;
    opened?: number | undefined;
    opens?: number | undefined;
    clicked?: number | undefined;
    clicks?: number | undefined;
    machine_opened?: number | undefined;
    machine_clicked?: number | undefined;
    complained?: number | undefined;
    unsubscribed?: number | undefined;
    /** Values of the requested metrics. */
    rates: {
      /** `delivered` divided by `accepted`. null: `accepted` is 0. */
      delivered?: number | null | undefined;
      /** `deferred` divided by `accepted`. null: `accepted` is 0. */
      deferred?: number | null | undefined;
      /** `bounced` divided by `accepted`. null: `accepted` is 0. */
      bounced?: number | null | undefined;
      /** `opened` divided by `delivered`. null: `delivered` is 0. */
      opened?: number | null | undefined;
      /** `clicked` divided by `delivered`. null: `delivered` is 0. */
      clicked?: number | null | undefined;
      /** `complained` divided by `delivered`. null: `delivered` is 0. */
      complained?: number | null | undefined;
      /** `unsubscribed` divided by `delivered`. null: `delivered` is 0. */
      unsubscribed?: number | null | undefined;
    };
    /** Milliseconds from acceptance, or from `scheduled_at`, to delivery. null: nothing was delivered. */
    latency_ms: {
      p50: number;
      p90: number;
      p99: number;
    } | null;
  })[] | undefined;
  granularity: 'hour' | 'day' | 'week' | 'month';
  timezone: string;
  attribution: 'cohort' | 'event';
  /** Time of the newest counted event. Everything recorded until then is included. */
  complete_until: string;
  /** The same counts for the previous period. Present only with `compare=previous`. */
  previous?: {
    from: string;
    to: string;
    totals: {
      accepted?: number | undefined;
      delivered?: number | undefined;
      deferred?: number | undefined;
      bounced?: number | undefined;
      failed?: number | undefined;
      expired?: number | undefined;
      suppressed?: number | undefined;
      cancelled?: number | undefined;
      opened?: number | undefined;
      opens?: number | undefined;
      clicked?: number | undefined;
      clicks?: number | undefined;
      machine_opened?: number | undefined;
      machine_clicked?: number | undefined;
      complained?: number | undefined;
      unsubscribed?: number | undefined;
      /** Values of the requested metrics. */
      rates: {
        /** `delivered` divided by `accepted`. null: `accepted` is 0. */
        delivered?: number | null | undefined;
        /** `deferred` divided by `accepted`. null: `accepted` is 0. */
        deferred?: number | null | undefined;
        /** `bounced` divided by `accepted`. null: `accepted` is 0. */
        bounced?: number | null | undefined;
        /** `opened` divided by `delivered`. null: `delivered` is 0. */
        opened?: number | null | undefined;
        /** `clicked` divided by `delivered`. null: `delivered` is 0. */
        clicked?: number | null | undefined;
        /** `complained` divided by `delivered`. null: `delivered` is 0. */
        complained?: number | null | undefined;
        /** `unsubscribed` divided by `delivered`. null: `delivered` is 0. */
        unsubscribed?: number | null | undefined;
      };
      /** Milliseconds from acceptance, or from `scheduled_at`, to delivery. null: nothing was delivered. */
      latency_ms: {
        p50: number;
        p90: number;
        p99: number;
      } | null;
    };
    data: ({
      start: string;
      /** Value of the `group_by` dimension, or an object with both values. `(other)`: all remaining groups together. */
      group?: string | Record<string, string> | undefined;
      accepted?: number | undefined;
      delivered?: number | undefined;
      deferred?: number | undefined;
      bounced?: number | undefined;
      failed?: number | undefined;
      expired?: number | undefined;
      suppressed?: number | undefined;
      cancelled?: number | undefined;
      opened?: number | undefined;
      opens?: number | undefined;
      clicked?: number | undefined;
      clicks?: number | undefined;
      machine_opened?: number | undefined;
      machine_clicked?: number | undefined;
      complained?: number | undefined;
      unsubscribed?: number | undefined;
      /** Values of the requested metrics. */
      rates: {
        /** `delivered` divided by `accepted`. null: `accepted` is 0. */
        delivered?: number | null | undefined;
        /** `deferred` divided by `accepted`. null: `accepted` is 0. */
        deferred?: number | null | undefined;
        /** `bounced` divided by `accepted`. null: `accepted` is 0. */
        bounced?: number | null | undefined;
        /** `opened` divided by `delivered`. null: `delivered` is 0. */
        opened?: number | null | undefined;
        /** `clicked` divided by `delivered`. null: `delivered` is 0. */
        clicked?: number | null | undefined;
        /** `complained` divided by `delivered`. null: `delivered` is 0. */
        complained?: number | null | undefined;
        /** `unsubscribed` divided by `delivered`. null: `delivered` is 0. */
        unsubscribed?: number | null | undefined;
      };
      /** Milliseconds from acceptance, or from `scheduled_at`, to delivery. null: nothing was delivered. */
      latency_ms: {
        p50: number;
        p90: number;
        p99: number;
      } | null;
    })[];
    /** With `group_by`: each group over the whole period, largest number of accepted recipients first. */
    groups?: ({
      /** Value of the `group_by` dimension, or an object with both values. `(other)`: all remaining groups together. */
      group?: string | Record<string, string> | undefined;
      accepted?: number | undefined;
      delivered?: number | undefined;
      deferred?: number | undefined;
      bounced?: number | undefined;
      failed?: number | undefined;
      expired?: number | undefined;
      suppressed?: number | undefined;
      cancelled?: number | undefined;
      opened?: number | undefined;
      opens?: number | undefined;
      clicked?: number | undefined;
      clicks?: number | undefined;
      machine_opened?: number | undefined;
      machine_clicked?: number | undefined;
      complained?: number | undefined;
      unsubscribed?: number | undefined;
      /** Values of the requested metrics. */
      rates: {
        /** `delivered` divided by `accepted`. null: `accepted` is 0. */
        delivered?: number | null | undefined;
        /** `deferred` divided by `accepted`. null: `accepted` is 0. */
        deferred?: number | null | undefined;
        /** `bounced` divided by `accepted`. null: `accepted` is 0. */
        bounced?: number | null | undefined;
        /** `opened` divided by `delivered`. null: `delivered` is 0. */
        opened?: number | null | undefined;
        /** `clicked` divided by `delivered`. null: `delivered` is 0. */
        clicked?: number | null | undefined;
        /** `complained` divided by `delivered`. null: `delivered` is 0. */
        complained?: number | null | undefined;
        /** `unsubscribed` divided by `delivered`. null: `delivered` is 0. */
        unsubscribed?: number | null | undefined;
      };
      /** Milliseconds from acceptance, or from `scheduled_at`, to delivery. null: nothing was delivered. */
      latency_ms: {
        p50: number;
        p90: number;
        p99: number;
      } | null;
    })[] | undefined;
  } | undefined;
}

export interface SearchResult {
  type: 'message' | 'messages' | 'event' | 'request' | 'api_key' | 'domain' | 'template' | 'webhook' | 'webhook_delivery' | 'topic' | 'inbound_message' | 'inbound_messages' | 'inbound_route' | 'suppression' | 'erasure' | 'member' | 'tag';
  /** Id of the resource. null: the result is a list. */
  id: string | null;
  /** Text to show: a name, a subject, an event type, or a description of the list. */
  title: string;
  /** Path of this API that returns the resource or the list. */
  path: string;
  /** State of a message. null: the result is not a message. */
  message: {
    status: 'accepted' | 'scheduled' | 'sending' | 'delivered' | 'deferred' | 'bounced' | 'failed' | 'suppressed' | 'cancelled' | 'expired';
    partial: boolean;
    /** Number of recipients. */
    recipients: number;
    /** Recipients with the status `delivered`. */
    delivered: number;
    /** Recipients with the status `bounced`. */
    bounced: number;
  } | null;
}

export interface Submission {
  object: 'submission';
  /** User name to enter. The service ignores it, so any other name works too. */
  user: string;
  /** The servers. Empty: this service does not accept mail by SMTP. */
  servers: ({
    host: string;
    port: number;
    /** `starttls` (RFC 3207): the client must start TLS before it sends the password. `implicit` (RFC 8314): TLS from the first byte. `none`: no TLS, and only programs on the machine of the service can sign in. */
    tls: 'none' | 'starttls' | 'implicit';
  })[];
}

export interface RequestRefusal {
  /** The `X-Request-Id` of the response. */
  id: string;
  object: 'refused_request';
  at: string;
  /** API key that sent the request. null: not an API key. */
  key_id: string | null;
  /** Member who sent the request. null: not a member. */
  member_id: string | null;
  /** Auditor who sent the request. null: not an auditor. */
  auditor_id: string | null;
  method: string;
  /** Path as documented, such as `/v1/messages/:id`. null: unknown path. */
  route: string | null;
  /** Requested path, without the query. Segments that could contain personal data are `***`. */
  path: string;
  status: number;
  code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'nothing_to_resend' | 'recipient_suppressed' | 'content_removed' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_inbound_routes' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
  message: string;
  /** The first 20 problems of the error’s `details`, or the place where the JSON is invalid. */
  problems: ({
    /** Name of the field, as in `details` of the error. */
    field: string;
    sentence: string;
    /** JSON Pointer (RFC 6901) to the field, or to the object that lacks it. null: not in the body. */
    pointer: string | null;
    /** Line in the body as sent, from 1. null: not in the body, or too far into it to be located. */
    line: number | null;
    /** Column in that line, from 1, in UTF-16 code units. */
    column: number | null;
    /** Offset in `body.text` where the field starts. null: this part of the body is not shown. */
    start: number | null;
    /** Offset in `body.text` where the field ends. */
    end: number | null;
  })[];
  /** IP address of the request. Only the key that sent it and live keys with `admin` see it. */
  client_address: string | null;
  user_agent: string | null;
  duration_ms: number;
  /** Number of requests that this entry represents. Above 1 for requests over a rate or concurrency limit, which are counted per minute. */
  count: number;
}

export interface RequestRefusalCounts {
  object: 'refused_request_counts';
  total: number;
  codes: ({
    code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'nothing_to_resend' | 'recipient_suppressed' | 'content_removed' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_inbound_routes' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
    status: number;
    count: number;
  })[];
  principals: ({
    /** API key that sent the request. null: not an API key. */
    key_id: string | null;
    /** Member who sent the request. null: not a member. */
    member_id: string | null;
    /** Auditor who sent the request. null: not an auditor. */
    auditor_id: string | null;
    count: number;
  })[];
}

export interface ShownRequestRefusal extends RequestRefusal {
  /** Meaning of the code. */
  meaning: string;
  /** How to fix it. */
  remedy: string;
  /** null: the request had no body, the body was not stored, or your role may not see it. */
  body: {
    /** The body, at most 4 kB, with field names, numbers and words of the API. All other text is replaced by `***` and its length, and addresses by `***` and their domain. */
    text: string;
    /** true: the body was sent on one line and is shown on several. */
    formatted: boolean;
    /** true: the body was longer than what is shown. */
    cut: boolean;
  } | null;
}

export interface Billing {
  object: 'billing';
  plan: Plan;
  /** Plan that was chosen and does not apply yet. null: none. */
  next_plan: {
    plan: Plan;
    /** Day in UTC. */
    applies_from: string;
  } | null;
  period: {
    start: string;
    end: string;
  };
  usage: {
    /** Recipients of accepted live messages, including cancelled and bounced ones. Not counted: recipients of test keys, suppressed recipients, and recipients that `failed`. */
    billable_recipients: number;
    counted_up_to: string | null;
  };
  /** Recipients allowed in the period. `hard`: further messages are rejected. null: no quota. */
  quota: {
    limit: number;
    remaining: number;
    hard: boolean;
  } | null;
}

export interface Plan {
  id: string;
  name: string;
  currency: string;
  /** Price per month, in the smallest unit of the currency, such as cents. */
  price: number;
  /** Recipients included per month. null: unlimited. */
  included: number | null;
  /** Price per 1,000 recipients beyond the included ones, in the smallest unit of the currency, as a decimal string. */
  overage_per_1000: string;
  /** Recipients per month beyond which messages are rejected. null: no limit. */
  hard_limit: number | null;
}

export interface Usage {
  object: 'usage';
  period: {
    start: string;
    end: string;
  };
  /** Recipients of accepted live messages, including cancelled and bounced ones. Not counted: recipients of test keys, suppressed recipients, and recipients that `failed`. */
  billable_recipients: number;
  by_day: {
    date: string;
    /** Recipients of accepted live messages, including cancelled and bounced ones. Not counted: recipients of test keys, suppressed recipients, and recipients that `failed`. */
    billable_recipients: number;
  }[];
  counted_up_to: string | null;
}

export interface ChosenPlan extends Plan {
  /** First day (UTC) of the plan: today, or tomorrow if the plan lowers anything. */
  applies_from: string;
}

export interface Invoice {
  id: string;
  object: 'invoice';
  /** `Usage statement`: the issuer or the customer was not set when the period was closed. */
  title: 'Invoice' | 'Usage statement';
  /** Consecutive within the organization. null: closed by a version that did not number invoices. */
  number: string | null;
  /** Set by the operator. */
  issuer: {
    name: string;
    address: string;
    tax_id: string | null;
  } | null;
  /** `billing_details` of the organization when the period was closed. */
  customer: {
    name: string;
    address: string;
    tax_id: string | null;
  } | null;
  period: {
    start: string;
    end: string;
  };
  currency: string;
  /** Sum of the lines, in the smallest unit of the currency, without tax. Below 0: a credit. */
  total: number;
  /** Tax on `total`. null: none is added. */
  tax: {
    name: string;
    /** Percent, as a decimal string. */
    rate: string;
    /** Amount in the smallest unit of the currency, such as cents. A negative amount is a credit. */
    amount: number;
  } | null;
  /** Amount in the smallest unit of the currency, such as cents. A negative amount is a credit. */
  total_with_tax: number;
  lines: ({
    /** `plan`: price of the plan for its days. `recipients`: recipients beyond the included ones. `late_recipients`: correction of an earlier invoice whose count has changed. */
    kind: 'plan' | 'recipients' | 'late_recipients';
    from: string;
    /** Day after the last day, in UTC. */
    to: string;
    plan: Plan;
    /** Number of `unit`. `late_recipients` can be negative. */
    quantity: number;
    unit: 'days' | 'recipients';
    /** Amount in the smallest unit of the currency, such as cents. A negative amount is a credit. */
    amount: number;
    /** Days of the plan in the month. */
    days: number;
    days_of_month: number;
    /** Price of the plan per month. null: the line charges recipients. */
    price: number | null;
    /** Recipients of these days. Of `late_recipients`: their current count, null on invoices of earlier versions. null: the line charges days. */
    counted: number | null;
    /** Recipients included in the price for these days, rounded up. null: unlimited, or the line charges days. */
    included: number | null;
    /** Recipients beyond the included ones. */
    chargeable: number | null;
    /** Price per 1,000 chargeable recipients, as a decimal string. */
    rate_per_1000: string | null;
    /** Amount that earlier invoices charged for these days; only of `late_recipients`. */
    already_charged: number | null;
    /** How `amount` is calculated, in words. The result is rounded once. */
    calculation: string;
    /** URL of the counted events; read it with a live key. `quantity` is the number of `message.accepted`, less those of `message.suppressed` and `message.failed`. null: the line counts no events. */
    events: string | null;
  })[];
  /** Cursor of the last counted event in the event feed. Later events are on the next invoice. */
  counted_to: {
    cursor: string;
    time: string | null;
  };
  closed_at: string;
}

export interface AuditEntry {
  object: 'audit_entry';
  /** Index in the tree, from 0. */
  leaf_index: number;
  event_id: string;
  type: string;
  /** The action in words: `invited a member`. */
  action: string;
  occurred_at: string;
  actor: {
    type: string;
    id: string | null;
    /** Name of the member, auditor or key. null: it has none, or it is no longer stored. */
    name: string | null;
    /** Number of the secret that was used, from 1; each rotation creates the next one. null: the actor is not an API key. */
    secret: number | null;
    /** Last four characters of that secret. */
    secret_last4: string | null;
    /** Session of the member. null: the actor is not a member. */
    session_id: string | null;
  };
  /** Subject of the event. null: the organization as a whole. */
  subject: {
    type: 'message' | 'member' | 'api_key' | 'domain' | 'template' | 'webhook' | 'topic' | 'inbound_route' | 'suppression' | 'erasure' | 'auditor';
    id: string;
    /** Its name now. null: it has none, or it is no longer stored. */
    name: string | null;
  } | null;
  /** IP address of the request. Only auditors and live keys with `admin` see it, for one year. Otherwise null. */
  address: string | null;
  request_id: string | null;
  /** Log stream that contains the event, such as `apiKey-<id>`. */
  stream: string;
  /** Position in the stream, from 0, without gaps. */
  revision: number;
  /** The data of the event, as stored. */
  data: Record<string, unknown>;
}

export interface AuditCheckpoint {
  object: 'audit_checkpoint';
  /** Name of the tree. */
  origin: string;
  /** Number of leaves that the checkpoint covers, counted from the first. */
  size: number;
  /** Root of the Merkle tree of these leaves (RFC 9162), in base64. */
  root_hash: string;
  /** The signed note (C2SP signed-note, tlog-checkpoint). */
  note: string;
  /** The public key that signed it (C2SP signed-note). Keep the first that you see. */
  verifier_key: string;
  signed_at: string;
}

export interface AuditProof {
  object: 'audit_proof';
  /** Id of the event, as in the audit entry. */
  event_id: string;
  leaf_index: number;
  /** The hashed data: a line of canonical JSON (RFC 8785). */
  leaf: string;
  /** Proof of inclusion (RFC 9162 §2.1.3), in base64, from the leaf upwards. */
  hashes: string[];
  /** The signed note that the proof refers to. */
  checkpoint: string;
}

export interface AuditDisclosure {
  object: 'audit_disclosure';
  event_id: string;
  leaf_index: number;
  /** Root hash of the content recorded in the event, in base64. null: the event has no content. */
  content_root: string | null;
  /** The parts, in the order in which they form the root (RFC 9162). */
  parts: ({
    name: string;
    /** The hashed data: `[salt, name, value]` as canonical JSON. null: the value was removed. */
    leaf: string | null;
    /** Hash of the leaf (RFC 9162), in base64. */
    hash: string;
    removed: {
      reason: 'expired' | 'erased';
      at: string;
      erasure_id: string | null;
    } | null;
  })[];
  /** Part `reply`: the reply of the mail server. Its hash is the root. null: there was no reply. */
  reply: {
    /** Root hash recorded in the event, in base64. */
    root: string;
    part: {
      name: string;
      /** The hashed data: `[salt, name, value]` as canonical JSON. null: the value was removed. */
      leaf: string | null;
      /** Hash of the leaf (RFC 9162), in base64. */
      hash: string;
      removed: {
        reason: 'expired' | 'erased';
        at: string;
        erasure_id: string | null;
      } | null;
    };
  } | null;
  /** Part `client`: the address and user agent that sent the request. Its hash is the root. null: not recorded for this kind of request. */
  origin: {
    /** Root hash recorded in the event, in base64. */
    root: string;
    part: {
      name: string;
      /** The hashed data: `[salt, name, value]` as canonical JSON. null: the value was removed. */
      leaf: string | null;
      /** Hash of the leaf (RFC 9162), in base64. */
      hash: string;
      removed: {
        reason: 'expired' | 'erased';
        at: string;
        erasure_id: string | null;
      } | null;
    };
  } | null;
}

export interface AuditConsistency {
  object: 'audit_consistency';
  from: {
    size: number;
    root_hash: string;
  };
  to: {
    size: number;
    root_hash: string;
  };
  /** Proof of consistency (RFC 9162 §2.1.4), in base64. */
  hashes: string[];
  /** The newest signed note. */
  checkpoint: string;
}

export interface AuditReport {
  object: 'audit_report';
  type: 'api_key' | 'message' | 'access_review';
  id: string;
  title: string;
  made_at: string;
  /** For an access review: the time at which access was as stated. */
  as_of: string | null;
  facts: {
    name: string;
    value: string;
  }[];
  /** Only in an access review: who has or had access, the active ones first. */
  access: ({
    kind: 'member' | 'api_key' | 'auditor';
    id: string;
    /** null: the name was removed. */
    name: string | null;
    /** Role of a member. */
    role: string | null;
    permissions: string[];
    scope: string;
    state: 'active' | 'ended';
    granted_at: string;
    granted_by: string;
    /** Last change of role, permissions, networks or expiry. */
    changed_at: string | null;
    changed_by: string | null;
    expires_at: string | null;
    ended_at: string | null;
    /** null: it has not ended, or it expired. */
    ended_by: string | null;
  })[];
  /** For a key: messages sent so far with each of its last 100 secrets, newest first. The service counts them; the proofs do not cover the counts. */
  sends: ({
    /** Number of the secret among those of the key, from 1. */
    secret: number;
    last4: string;
    /** Messages accepted with it. */
    messages: number;
    /** Recipients of those messages. */
    recipients: number;
    first_at: string | null;
    last_at: string | null;
  })[];
  /** Events that are omitted, and where to find them; null: none. */
  left_out: string | null;
  /** Oldest first. */
  events: ({
    at: string;
    sentence: string;
    by: string;
    /** IP address of the request; null: there was no request, or its address is no longer stored. */
    address: string | null;
    request_id: string | null;
    type: string;
    event_id: string;
    /** Index in the audit log; null: not in it yet. */
    leaf_index: number | null;
    /** null: no checkpoint covers it yet. */
    proof: {
      /** The hashed data: a line of canonical JSON (RFC 8785). */
      leaf: string;
      /** Proof of inclusion (RFC 9162 §2.1.3) in `checkpoint`, in base64. */
      hashes: string[];
    } | null;
  })[];
  /** Words of the sentences that are not in the log, by id: names of people, and addresses, replies and links of a message while they are stored. Nothing proves them. */
  names: {
    id: string;
    name: string;
  }[];
  /** Further leaves that the report is derived from, so that a program can derive it again; null: too many. */
  evidence: ({
    event_id: string;
    /** Index in the audit log; null: not in it yet. */
    leaf_index: number | null;
    /** null: no checkpoint covers it yet. */
    proof: {
      /** The hashed data: a line of canonical JSON (RFC 8785). */
      leaf: string;
      /** Proof of inclusion (RFC 9162 §2.1.3) in `checkpoint`, in base64. */
      hashes: string[];
    } | null;
  })[] | null;
  /** null: not signed yet. */
  checkpoint: {
    size: number;
    /** The signed note that the proofs refer to. */
    note: string;
    verifier_key: string;
    signed_at: string;
  } | null;
}

export interface AddedAuditor extends Auditor {
  token: string;
}

export interface Auditor {
  id: string;
  object: 'auditor';
  /** null: the address was erased. */
  name: string | null;
  email: string | null;
  contents: boolean;
  status: 'active' | 'expired';
  expires_at: string;
  token_last4: string;
  created_at: string;
}

export interface Erasure {
  id: string;
  object: 'erasure';
  /** `running`: the erasure is in progress, or waits for messages that are still being delivered. `held`: a legal hold delays it. `completed`: `certificate` states what was removed. */
  state: 'running' | 'held' | 'completed';
  /** Legal ground for the erasure (GDPR Art. 17(1)). `requested`: none stated. */
  reason: 'requested' | 'no_longer_needed' | 'consent_withdrawn' | 'objection' | 'unlawful' | 'legal_obligation';
  suppress: boolean;
  progress: {
    /** Number of items removed so far. */
    removed: {
      /** Messages, each with its addresses, subject, bodies, attachments, tags and metadata. */
      messages: number;
      /** Texts of replies and reports from mail servers. */
      replies: number;
      /** Addresses of clicked links. */
      links: number;
      /** Addresses and notes of suppressions. */
      suppression_evidence: number;
      /** Attempts of webhook deliveries, with their responses. */
      webhook_tries: number;
      /** Captured mail in the inbox. */
      captured_mail: number;
      /** Contact addresses of the organization and of auditors. */
      contacts: number;
    };
    /** Messages that are still open for some recipients. They are removed when they have ended. */
    waiting_messages: number;
    /** null: the erasure has not started yet. */
    updated_at: string | null;
  };
  /** null: the erasure is not complete yet. */
  certificate: {
    removed: {
      /** Messages, each with its addresses, subject, bodies, attachments, tags and metadata. */
      messages: number;
      /** Texts of replies and reports from mail servers. */
      replies: number;
      /** Addresses of clicked links. */
      links: number;
      /** Addresses and notes of suppressions. */
      suppression_evidence: number;
      /** Attempts of webhook deliveries, with their responses. */
      webhook_tries: number;
      /** Captured mail in the inbox. */
      captured_mail: number;
      /** Contact addresses of the organization and of auditors. */
      contacts: number;
    };
    completed_at: string;
    /** Position in the log at which the erasure was complete. */
    log_position: string | null;
  } | null;
  created_at: string;
}

export interface Session {
  /** Id of the session. null: the request was authenticated by an API key. */
  id: string | null;
  object: 'session';
  /** null: the request was authenticated by an API key. */
  member: {
    id: string;
    name: string;
    email: string | null;
    role: 'owner' | 'developer' | 'analyst' | 'auditor';
  } | null;
  /** null: the request was authenticated by a member. */
  api_key_id: string | null;
  permissions: ('send' | 'read' | 'manage' | 'admin')[];
  /** true: addresses, subjects and bodies of mail are visible. */
  contents: boolean;
  /** true: changes are allowed. */
  changes: boolean;
  /** true: `GET /v1/service` is allowed. */
  operator: boolean;
  /** Time until which actions that require recent authentication are allowed. Later they fail with `presence_required`. null: an API key. */
  present_until: string | null;
  /** Time until which the member can add a first passkey without authenticating again, after signing in with a link from the operator. null: not allowed. */
  first_passkey_until: string | null;
  /** Environment of this request. Members select the test environment with `environment=test` in the query of any request. Default: `live`. */
  environment: 'live' | 'test';
  organization: {
    id: string;
    name: string;
  };
}

export interface Passkey {
  id: string;
  object: 'passkey';
  /** Credential id that browsers and authenticators use (WebAuthn). */
  credential_id: string;
  /** true: the passkey is synced between devices. */
  synced: boolean;
  created_at: string;
}

export interface InvitedMember extends Member {
  link: {
    object: 'sign_in_link';
    /** The link, shown only once. Browsers do not send the part after `#` to a server until the person confirms. */
    url: string;
    expires_at: string;
    /** true: the link was also mailed to the member. false: it was not, because mail is captured. */
    mailed: boolean;
  };
}

export interface Member {
  id: string;
  object: 'member';
  name: string;
  /** null: the first owner has no address yet. */
  email: string | null;
  role: 'owner' | 'developer' | 'analyst' | 'auditor';
  /** true: an operator, who can read the health of the service. Only the command line can grant this. */
  operator: boolean;
  /** `invited`: the person has not accepted the invitation yet. */
  status: 'invited' | 'joined';
  invited_at: string;
  /** Time until which the invitation can be accepted. null: the person has joined, or the invitation has expired. */
  invitation_expires_at: string | null;
  joined_at: string | null;
  /** Number of passkeys (`GET /v1/members/:id/passkeys`). */
  passkeys: number;
}

export interface SignInLink {
  object: 'sign_in_link';
  /** The link, shown only once. Browsers do not send the part after `#` to a server until the person confirms. */
  url: string;
  expires_at: string;
  /** true: the link was also mailed to the member. false: it was not, because mail is captured. */
  mailed: boolean;
}

export interface MemberSession {
  id: string;
  object: 'member_session';
  member_id: string;
  member_name: string;
  /** true: the session that sends this request. */
  is_current: boolean;
  started_at: string;
  /** Time of the last request, rounded to the minute. */
  last_used_at: string;
  /** IP address of the last request. */
  last_address: string | null;
  /** Browser that signed in, such as `Firefox 142 on Linux`, as it calls itself. null: unknown. */
  browser: string | null;
  /** Time when the session ends. It ends earlier if it is idle for longer than the organization allows. */
  expires_at: string;
}

export interface ListedCapturedMail {
  id: string;
  object: 'captured_mail';
  received_at: string;
  envelope: {
    from: string;
    to: string[];
  };
  subject: string | null;
  size_bytes: number;
  /** true: the mail contains a sign-in link. Only an owner who has recently confirmed their presence can read it. */
  confidential: boolean;
  attachments: ({
    filename: string | null;
    content_type: string;
    size_bytes: number;
  })[];
}

export interface CapturedMail extends ListedCapturedMail {
  headers: {
    name: string;
    value: string;
  }[];
  text: string | null;
  html: string | null;
  /** true: headers, text or html were longer than 1 MB and are cut here. The source is complete. */
  truncated: boolean;
}

export interface DestinationBacklog {
  object: 'destination_backlog';
  /** false: only the newest deferrals were examined, so more mail may be waiting. */
  complete: boolean;
  data: ({
    /** Recipient domain in ASCII (A-labels). */
    recipient_domain: string;
    /** Number of recipients that wait for another attempt. */
    recipients: number;
    /** Time of the oldest of these deferrals. */
    since: string;
    /** Time of the earliest next attempt. */
    next_attempt_at: string;
    /** Highest number of attempts made for one of these recipients. */
    attempts: number;
    /** Reply that caused the newest deferral. `GET /v1/messages/{id}/explain` shows its text. */
    last_reply: {
      at: string;
      message_id: string;
      /** 0: there was no reply. */
      code: number;
      enhanced: string | null;
      mx: string | null;
    };
  })[];
}

export interface ErrorAnswer {
  error: {
    message: string;
    code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'nothing_to_resend' | 'recipient_suppressed' | 'content_removed' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_inbound_routes' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
    details?: Record<string, string[]> | undefined;
    retry_after?: number | undefined;
  };
}

export interface ListMessagesAnswer {
  object: 'list';
  data: ListedMessage[];
  has_more: boolean;
  next_cursor: string | null;
  /** Present while the list lags: everything recorded until this time is included. */
  complete_until?: string | undefined;
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetMessageAnswer extends Message {
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export type GetRawMessageAnswer = string;

export interface ListMessageEventsAnswer {
  object: 'list';
  data: OutboxEvent[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ExplainMessageAnswer {
  object: 'explanation';
  message_id: string;
  /** Current status, its reason, and the next step with its time. */
  summary: string;
  /** Why each recipient that has not ended yet waits. Empty: no recipient waits. */
  waiting_because: ({
    recipient: {
      id: string;
      address: string | null;
    };
    reason: 'scheduled' | 'due_now' | 'in_hand' | 'attempt_lost' | 'outcome_unknown' | 'held' | 'destination_suspended' | 'greylisted' | 'told_to_wait' | 'not_handed_over';
    sentence: string;
    /** Latest time of the next step. null: no fixed time. */
    next_attempt_at: string | null;
  })[];
  /** The history, oldest first: the request, the checks, every attempt and reply, webhooks. */
  steps: ({
    at: string;
    actor: {
      /** `key`, `member`, `recipient`, `worker`, `operator` or `service`. */
      type: string;
      id: string | null;
    };
    type: 'requested' | 'key_checked' | 'domain_checked' | 'rendered' | 'html_checked' | 'analyzed' | 'accepted' | 'scheduled' | 'rescheduled' | 'held' | 'attempt_started' | 'outcome_unknown' | 'delivered' | 'deferred' | 'bounced' | 'expired' | 'failed' | 'suppressed' | 'cancelled' | 'opened' | 'clicked' | 'complained' | 'report_noted' | 'resent' | 'unsubscribed' | 'webhook_owed' | 'webhook_tried';
    sentence: string;
    recipient?: {
      id: string;
      address: string | null;
    } | undefined;
    facts: {
      request_id?: string | undefined;
      api_key_id?: string | undefined;
      api_key_name?: string | undefined;
      member_id?: string | undefined;
      member_name?: string | undefined;
      domain_id?: string | undefined;
      idempotency_key_used?: boolean | undefined;
      template_id?: string | undefined;
      template_version?: number | undefined;
      score?: number | undefined;
      verdict?: string | undefined;
      stream?: string | undefined;
      recipient_ids?: string[] | undefined;
      attempt?: number | undefined;
      destinations?: string[] | undefined;
      lease_until?: string | undefined;
      scheduled_at?: string | undefined;
      expires_at?: string | undefined;
      next_attempt_at?: string | undefined;
      smtp?: {
        code: number;
        enhanced: string | null;
        text: string | null;
        mx: string | null;
        tls: string | null;
        cipher: string | null;
        policy: 'opportunistic' | 'required' | 'mta-sts' | 'dane' | null;
        address: string | null;
        stage: 'connect' | 'session' | 'mail' | 'recipient' | 'content' | null;
      } | undefined;
      reason?: string | undefined;
      method?: string | undefined;
      first?: boolean | undefined;
      count?: number | undefined;
      machine?: boolean | undefined;
      client?: string | undefined;
      network?: string | undefined;
      url?: string | null | undefined;
      late?: boolean | undefined;
      webhook_id?: string | undefined;
      event_id?: string | undefined;
      event_type?: string | undefined;
      status?: number | null | undefined;
      duration_ms?: number | undefined;
    };
  })[];
  /** The part of a long history that is omitted, and where to list it. */
  left_out: string | null;
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface CancelMessagesAnswer {
  object: 'cancellation';
  dry_run: boolean;
  /** The messages of this request. */
  matched: number;
  cancelled: number;
  /** true: more than 500 messages match. Repeat the request: cancelled messages no longer match. */
  has_more: boolean;
  data: ({
    id: string;
    cancelled: boolean;
    error: {
      code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'nothing_to_resend' | 'recipient_suppressed' | 'content_removed' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_inbound_routes' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
      message: string;
    } | null;
  })[];
}

export interface ResendMessagesAnswer {
  object: 'resending';
  /** The messages of this request. */
  matched: number;
  /** New messages of this request. */
  sent: number;
  data: ({
    id: string;
    /** Id of the new message. null: see `error`. */
    resent_as: string | null;
    /** Recipients of the new message. */
    recipients: number;
    /** true: it was sent again before, and this request sent nothing. */
    replayed: boolean;
    error: {
      code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'nothing_to_resend' | 'recipient_suppressed' | 'content_removed' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_inbound_routes' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
      message: string;
    } | null;
  })[];
}

export interface ListKeysAnswer {
  object: 'list';
  data: ApiKey[];
  has_more: boolean;
  next_cursor: string | null;
  /** Present while the list lags: everything recorded until this time is included. */
  complete_until?: string | undefined;
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetKeyAnswer extends ApiKey {
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface ListKeyHistoryAnswer {
  object: 'list';
  data: ApiKeyHistoryEntry[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ListKeySecretsAnswer {
  object: 'list';
  data: ApiKeySecret[];
  has_more: boolean;
  next_cursor: string | null;
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface ListDomainsAnswer {
  object: 'list';
  data: Domain[];
  has_more: boolean;
  next_cursor: string | null;
  /** Present while the list lags: everything recorded until this time is included. */
  complete_until?: string | undefined;
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetDomainAnswer extends Domain {
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetDomainReputationAnswer {
  object: 'domain_reputation';
  domain_id: string;
  /** `warned`: no effect yet. `slowed`: live bulk mail is sent one message at a time. `paused`: live bulk mail waits. Transactional mail is never restricted. */
  level: 'good' | 'warned' | 'slowed' | 'paused';
  /** Reason for the level; null: the level is `good`. */
  measure: 'bounces' | 'complaints' | null;
  /** Time when the level last changed. null: it has always been `good`. */
  since: string | null;
  /** Start of the count. Earlier mail is not counted. */
  released_at: string | null;
  /** Recipients whose mailbox does not exist, divided by these and the delivered recipients. */
  bounces: {
    count: number;
    of: number;
    /** Rounded to three decimals. */
    percent: number;
    /** Percentages at which the level becomes `warned`, `slowed` and `paused`. null: this service does not evaluate it. */
    limits: {
      warned_percent: number;
      slowed_percent: number;
      paused_percent: number;
    } | null;
  };
  /** Recipients who complained, divided by delivered recipients. */
  complaints: {
    count: number;
    of: number;
    /** Rounded to three decimals. */
    percent: number;
    /** Percentages at which the level becomes `warned`, `slowed` and `paused`. null: this service does not evaluate it. */
    limits: {
      warned_percent: number;
      slowed_percent: number;
      paused_percent: number;
    } | null;
  };
  /** The reputation of all domains of the organization together. The worse of the two levels applies. */
  organization_level: 'good' | 'warned' | 'slowed' | 'paused';
}

export interface ReleaseSendingAnswer {
  object: 'released_domain';
  domain_id: string;
  /** false: there was no restriction, so nothing changed. */
  released: boolean;
}

export interface GetWarmUpAnswer {
  object: 'domain_warm_up';
  domain_id: string;
  /** `none`: the warm-up was never started, or was ended early. */
  status: 'none' | 'running' | 'over';
  /** Quota of recipients per destination for each day of the plan. */
  plan: number[];
  starts_on: string | null;
  /** Last day of the plan. */
  ends_on: string | null;
  /** Number of the current day, from 1. null: no plan is running. */
  day: number | null;
  /** Today’s quota for each destination. null: no plan is running. */
  recipients_max: number | null;
  /** The destinations with the most mail today, at most 100. */
  today: {
    /** Name of the mailbox provider. */
    destination: string;
    /** Recipients sent to, plus reserved ones. A twentieth of the quota is reserved at a time. */
    recipients: number;
  }[];
}

export type StartWarmUpAnswer = GetWarmUpAnswer;

export interface ListTemplatesAnswer {
  object: 'list';
  data: ListedTemplate[];
  has_more: boolean;
  next_cursor: string | null;
  /** Present while the list lags: everything recorded until this time is included. */
  complete_until?: string | undefined;
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetTemplateAnswer extends Template {
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface ListTemplateVersionsAnswer {
  object: 'list';
  data: ListedTemplateVersion[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ListWebhooksAnswer {
  object: 'list';
  data: Webhook[];
  has_more: boolean;
  next_cursor: string | null;
  /** Present while the list lags: everything recorded until this time is included. */
  complete_until?: string | undefined;
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetWebhookAnswer extends Webhook {
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface ListWebhookDeliveriesAnswer {
  object: 'list';
  data: WebhookDelivery[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ListWebhookReplaysAnswer {
  object: 'list';
  data: WebhookReplay[];
  has_more: boolean;
  next_cursor: string | null;
}

export type AddSuppressionsAnswer = Suppression | {
  object: 'suppressions_added';
  added: number;
  /** Number of addresses that were already on the list for this reason. */
  unchanged: number;
  /** One entry per address, in the order of `addresses`, without duplicates. */
  data: Suppression[];
};

export interface ListSuppressionsAnswer {
  object: 'list';
  data: Suppression[];
  has_more: boolean;
  next_cursor: string | null;
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface CheckSuppressionAnswer {
  object: 'suppression_check';
  address: string;
  /** Whether mail without a topic is suppressed, for each stream. Topics are in `entries` of the suppression. */
  suppressed: {
    transactional: boolean;
    bulk: boolean;
  };
  /** Ids of the topics that the recipient has opted in to. */
  opted_in: string[];
  /** The suppression. null: no suppression applies, or the key may not see it. */
  suppression: Suppression | null;
}

export type ExportSuppressionsAnswer = string;

export interface ImportSuppressionsAnswer {
  object: 'suppression_import';
  imported: number;
  /** Number of rows whose address was already on the list for this reason. */
  unchanged: number;
  refused: number;
  /** One entry for each invalid row. */
  problems: {
    line: number;
    message: string;
  }[];
}

export interface GetSuppressionAnswer extends Suppression {
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface ListOptInsAnswer {
  object: 'list';
  data: TopicOptIn[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ListTopicsAnswer {
  object: 'list';
  data: Topic[];
  has_more: boolean;
  next_cursor: string | null;
  /** Present while the list lags: everything recorded until this time is included. */
  complete_until?: string | undefined;
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetTopicAnswer extends Topic {
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface ListInboundAnswer {
  object: 'list';
  data: ListedInboundMessage[];
  has_more: boolean;
  next_cursor: string | null;
  /** Present while the list lags: everything recorded until this time is included. */
  complete_until?: string | undefined;
}

export type GetRawInboundAnswer = string;

export type GetInboundAttachmentAnswer = string;

export type ListInboundDeliveriesAnswer = ListWebhookDeliveriesAnswer;

export type ResendInboundAnswer = ListWebhookDeliveriesAnswer;

export interface ListInboundRoutesAnswer {
  object: 'list';
  data: InboundRoute[];
  has_more: boolean;
  next_cursor: string | null;
  /** Present while the list lags: everything recorded until this time is included. */
  complete_until?: string | undefined;
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetInboundRouteAnswer extends InboundRoute {
  /** Moment that the response describes. Present only if the request has `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export type ReadEventsAnswer = ListMessageEventsAnswer;

export interface SearchAnswer {
  object: 'list';
  data: SearchResult[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ListRefusedRequestsAnswer {
  object: 'list';
  data: RequestRefusal[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ListPlansAnswer {
  object: 'list';
  data: Plan[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ListInvoicesAnswer {
  object: 'list';
  data: Invoice[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ListAuditLogAnswer {
  object: 'list';
  data: AuditEntry[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ListCheckpointsAnswer {
  object: 'list';
  data: AuditCheckpoint[];
  has_more: boolean;
  next_cursor: string | null;
}

export type ExportAuditLogAnswer = string;

export type GetTlogCheckpointAnswer = string;

export type GetTlogTileAnswer = string;

export interface ListAuditorsAnswer {
  object: 'list';
  data: Auditor[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface PreviewErasureAnswer {
  object: 'erasure_preview';
  would_remove: {
    /** Messages, each with its addresses, subject, bodies, attachments, tags and metadata. */
    messages: number;
    /** Texts of replies and reports from mail servers. */
    replies: number;
    /** Addresses of clicked links. */
    links: number;
    /** Addresses and notes of suppressions. */
    suppression_evidence: number;
    /** Attempts of webhook deliveries, with their responses. */
    webhook_tries: number;
    /** Captured mail in the inbox. */
    captured_mail: number;
    /** Contact addresses of the organization and of auditors. */
    contacts: number;
  };
  /** Messages that are still open for some recipients. */
  waiting_messages: number;
  /** true: there are more messages than were counted. */
  has_more: boolean;
}

export interface ListErasuresAnswer {
  object: 'list';
  data: Erasure[];
  has_more: boolean;
  next_cursor: string | null;
  /** Present while the list lags: everything recorded until this time is included. */
  complete_until?: string | undefined;
}

export interface GetOrganizationAnswer {
  id: string;
  object: 'organization';
  name: string;
  /** Email address for notices from the service. null: no notices are sent. */
  contact: string | null;
  content_retention_days: number;
  default_analysis: 'off' | 'warn' | 'block';
  /** Which html is accepted from the API and by SMTP. */
  html_validation: {
    api: 'strict' | 'browser';
    compat: 'strict' | 'browser';
    smtp: 'strict' | 'browser';
  };
  inbound_dmarc: 'accept' | 'mark' | 'refuse';
  timezone: string;
  /** A member’s session ends after this many minutes without a request. */
  session_idle_minutes: number;
  /** A member’s session ends after this many hours even if it is used. */
  session_hours: number;
  /** Customer on invoices. null: not set. */
  billing_details: {
    /** Legal name. */
    name: string;
    /** Postal address, with a line break (\n) between its lines. */
    address: string;
    /** Tax or VAT number. null: none. */
    tax_id: string | null;
  } | null;
  /** Roles that an owner has allowed to see addresses, subjects and bodies of mail. */
  contents_allowed_to: ('analyst' | 'auditor')[];
  rate_limit_ceilings: {
    send?: number | undefined;
    read?: number | undefined;
    manage?: number | undefined;
  } | null;
  /** Start of the legal hold: until it ends, neither retention nor erasures remove anything. null: no legal hold. */
  legal_hold_since: string | null;
  /** When and why the operator suspended the organization, which then cannot send mail. null: not suspended. */
  suspension: {
    since: string;
    /** Reason that the operator gave. */
    reason: string;
  } | null;
  created_at: string;
}

export interface GetOrganizationReputationAnswer {
  object: 'organization_reputation';
  organization_id: string;
  /** `warned`: no effect yet. `slowed`: live bulk mail is sent one message at a time. `paused`: live bulk mail waits. Transactional mail is never restricted. */
  level: 'good' | 'warned' | 'slowed' | 'paused';
  /** Reason for the level; null: the level is `good`. */
  measure: 'bounces' | 'complaints' | null;
  /** Time when the level last changed. null: it has always been `good`. */
  since: string | null;
  /** Start of the count. Earlier mail is not counted. */
  released_at: string | null;
  /** Recipients whose mailbox does not exist, divided by these and the delivered recipients. */
  bounces: {
    count: number;
    of: number;
    /** Rounded to three decimals. */
    percent: number;
    /** Percentages at which the level becomes `warned`, `slowed` and `paused`. null: this service does not evaluate it. */
    limits: {
      warned_percent: number;
      slowed_percent: number;
      paused_percent: number;
    } | null;
  };
  /** Recipients who complained, divided by delivered recipients. */
  complaints: {
    count: number;
    of: number;
    /** Rounded to three decimals. */
    percent: number;
    /** Percentages at which the level becomes `warned`, `slowed` and `paused`. null: this service does not evaluate it. */
    limits: {
      warned_percent: number;
      slowed_percent: number;
      paused_percent: number;
    } | null;
  };
  /** Time when someone paused all live bulk mail, independently of the level. null: not paused. */
  bulk_mail_paused_since: string | null;
}

export type UpdateOrganizationAnswer = GetOrganizationAnswer;

export type SetLegalHoldAnswer = GetOrganizationAnswer;

export type SetContentsRolesAnswer = GetOrganizationAnswer;

export interface ReleaseOrganizationSendingAnswer {
  object: 'released_organization';
  organization_id: string;
  /** false: there was no restriction, so nothing changed. */
  released: boolean;
}

export interface PauseBulkMailAnswer {
  object: 'bulk_mail';
  organization_id: string;
  /** Time when bulk mail was paused. null: it is not paused. */
  paused_since: string | null;
}

export interface ListMembersAnswer {
  object: 'list';
  data: Member[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ListMemberPasskeysAnswer {
  object: 'list';
  data: Passkey[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ListMemberSessionsAnswer {
  object: 'list';
  data: MemberSession[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface ListInboxAnswer {
  object: 'list';
  data: ListedCapturedMail[];
  has_more: boolean;
  next_cursor: string | null;
}

export type GetRawCapturedMailAnswer = string;

export type GetCapturedAttachmentAnswer = string;

export interface ListDestinationsAnswer {
  object: 'list';
  data: ({
    object: 'suspended_destination';
    destination: string;
    reason: 'busy' | 'unreachable' | 'refused' | 'recipient_domain';
    message: string;
    since: string;
    until: string;
    times: number;
    smtp: {
      code: number;
      enhanced: string | null;
      mx: string | null;
    };
  })[];
  has_more: boolean;
  next_cursor: string | null;
  /** Present while the list lags: everything recorded until this time is included. */
  complete_until?: string | undefined;
}

export interface ReleaseDestinationAnswer {
  object: 'released_destination';
  destination: string;
  released: boolean;
}

export interface ListMessagesQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Only messages with this status. */
  status?: 'accepted' | 'scheduled' | 'sending' | 'delivered' | 'deferred' | 'bounced' | 'failed' | 'suppressed' | 'cancelled' | 'expired' | undefined;
  /** Only messages with a recipient that `GET /v1/stats` counts under this metric: the same recipient must also match `recipient_domain`, `mailbox_provider` and `bounce_class`. `waiting`: a recipient without a final outcome. `deferred`: deferred at least once, whatever followed. Test sends of templates are left out, as in statistics. */
  outcome?: 'accepted' | 'waiting' | 'delivered' | 'bounced' | 'failed' | 'expired' | 'suppressed' | 'cancelled' | 'deferred' | 'opened' | 'clicked' | 'machine_opened' | 'machine_clicked' | 'complained' | 'unsubscribed' | undefined;
  /** Only messages with a recipient that had the `outcome` at or after this time, as `GET /v1/stats` counts them with `attribution=event`. The message whose outcome is the latest is first. Requires `outcome`, and not `accepted` (use `since`) or `waiting`. `deferred`, `complained`, `unsubscribed`, openings and clicks: the first time. */
  outcome_since?: string | undefined;
  /** Only messages with a recipient that had the `outcome` before this time, as `GET /v1/stats` counts them with `attribution=event`. The message whose outcome is the latest is first. Requires `outcome`, and not `accepted` (use `since`) or `waiting`. `deferred`, `complained`, `unsubscribed`, openings and clicks: the first time. */
  outcome_until?: string | undefined;
  /** Only messages to this address. Part of an address or name: messages with words that begin with all of its words (`ann smi`, `ann@exa`), for as long as their contents are stored. Beginnings of words need at least three characters. */
  to?: string | undefined;
  /** Only messages from this address. Part of an address or name: messages with words that begin with all of its words (`ann smi`, `ann@exa`), for as long as their contents are stored. Beginnings of words need at least three characters. */
  from?: string | undefined;
  /** Only messages with this tag: `order:1234`. Without a colon: with a tag of this name or value, for as long as their contents are stored. */
  tag?: string | undefined;
  /** Only messages with this metadata: `customer:42`. */
  metadata?: string | undefined;
  /** Words of the subject. All must occur, in any order and letter case. Only the first 24 words of a subject can be found, for as long as its contents are stored. In double quotes: the whole subject, in any letter case and with any amount of white space. */
  subject?: string | undefined;
  /** Only the message with this `Message-ID`, with or without angle brackets. */
  message_id?: string | undefined;
  /** Only messages sent by this API key. */
  key_id?: string | undefined;
  /** Only messages sent with this secret of `key_id`: its number, from 1. */
  secret?: number | undefined;
  /** Only messages sent by this request: the `X-Request-Id` of its response. */
  request_id?: string | undefined;
  /** Only messages rendered from this template, by id or alias. `(none)`: from no template. */
  template_id?: string | undefined;
  /** Only messages rendered from this version of `template_id`. */
  template_version?: number | undefined;
  /** Only messages from this sending domain, by id. */
  domain_id?: string | undefined;
  /** Only messages accepted at or after this time (ISO 8601), or from this day on (time zone of the organization). */
  since?: string | undefined;
  /** Only messages accepted before this time (ISO 8601), or before this day (time zone of the organization). */
  until?: string | undefined;
  /** Only messages to this recipient domain. */
  recipient_domain?: string | undefined;
  /** Only messages to this mailbox provider, as `GET /v1/stats` counts them. */
  mailbox_provider?: 'gmail' | 'outlook' | 'yahoo' | 'yahoo_japan' | 'icloud' | 'comcast' | 'proton' | 'fastmail' | 'zoho' | 'gmx' | 'web_de' | 'telekom' | 'freenet' | 'orange' | 'free' | 'laposte' | 'libero' | 'seznam' | 'wp' | 'yandex' | 'mail_ru' | 'qq' | 'netease' | 'naver' | 'docomo' | 'other' | undefined;
  /** Only transactional or only bulk mail. */
  stream?: 'transactional' | 'bulk' | undefined;
  /** Only messages with a recipient that has this bounce category. */
  bounce_class?: 'no_mailbox' | 'no_domain' | 'mailbox_disabled' | 'mailbox_full' | 'too_large' | 'content_rejected' | 'spam' | 'policy' | 'reputation' | 'authentication' | 'greylisted' | 'rate_limited' | 'sender_rejected' | 'relay_denied' | 'system' | 'network' | 'protocol' | 'unknown' | undefined;
  /** Only messages with a recipient that was bounced or deferred with this SMTP code: `550`, `5.1.1`, `451 4.7.1`. */
  smtp_code?: string | undefined;
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
  /** `strict`: respond with `503` while the list lags, as during an upgrade. Default: return what the list has, with `complete_until`. */
  consistency?: 'strict' | undefined;
}

export interface GetMessageQuery {
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
}

export interface PreviewMessageQuery {
  /** `remote`: load images from other hosts over https, which notifies those hosts; never our own open pixel. */
  images?: 'none' | 'remote' | undefined;
}

export interface ListMessageEventsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
}

export interface ExplainMessageQuery {
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
}

export interface ListKeysQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
  /** `strict`: respond with `503` while the list lags, as during an upgrade. Default: return what the list has, with `complete_until`. */
  consistency?: 'strict' | undefined;
}

export interface GetKeyQuery {
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
}

export interface ListKeyHistoryQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
}

export interface ListKeySecretsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
}

export interface ListDomainsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
  /** `strict`: respond with `503` while the list lags, as during an upgrade. Default: return what the list has, with `complete_until`. */
  consistency?: 'strict' | undefined;
}

export interface GetDomainQuery {
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
}

export interface ListTemplatesQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
  /** `strict`: respond with `503` while the list lags, as during an upgrade. Default: return what the list has, with `complete_until`. */
  consistency?: 'strict' | undefined;
}

export interface GetTemplateQuery {
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
}

export interface ListTemplateVersionsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
}

export interface CompareTemplateVersionsQuery {
  /** Number of the version to compare with, usually an earlier one, or `draft`. */
  with: string;
}

export interface PreviewTemplateQuery {
  /** Number of the version; the draft when absent. */
  version?: number | undefined;
  /** A language tag. `de-AT` falls back to `de`, and `de` to the default language of the template. */
  locale?: string | undefined;
  /** `remote`: load images from other hosts over https, which notifies those hosts; never our own open pixel. */
  images?: 'none' | 'remote' | undefined;
}

export interface ListWebhooksQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
  /** `strict`: respond with `503` while the list lags, as during an upgrade. Default: return what the list has, with `complete_until`. */
  consistency?: 'strict' | undefined;
}

export interface GetWebhookQuery {
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
}

export interface ListWebhookDeliveriesQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Only deliveries with this status. `failing`: those that have failed, and those that wait for another attempt after a failed one. */
  status?: 'pending' | 'delivered' | 'failed' | 'failing' | undefined;
  /** Only deliveries of events of this type. */
  event_type?: 'message.accepted' | 'message.scheduled' | 'message.rescheduled' | 'message.sending' | 'message.delivered' | 'message.deferred' | 'message.bounced' | 'message.failed' | 'message.suppressed' | 'message.cancelled' | 'message.expired' | 'message.opened' | 'message.clicked' | 'message.complained' | 'message.unsubscribed' | 'domain.registered' | 'domain.updated' | 'domain.verified' | 'domain.degraded' | 'domain.failed' | 'domain.dkim_keys_added' | 'domain.dkim_keys_activated' | 'domain.dkim_keys_destroyed' | 'domain.deleted' | 'domain.sending_warned' | 'domain.sending_slowed' | 'domain.sending_paused' | 'domain.sending_recovered' | 'domain.sending_released' | 'domain.warm_up_started' | 'domain.warm_up_ended' | 'organization.sending_warned' | 'organization.sending_slowed' | 'organization.sending_paused' | 'organization.sending_recovered' | 'organization.sending_released' | 'api_key.created' | 'api_key.updated' | 'api_key.rotated' | 'api_key.revoked' | 'api_key.expired' | 'api_key.deleted' | 'template.created' | 'template.published' | 'template.deleted' | 'webhook.created' | 'webhook.updated' | 'webhook.enabled' | 'webhook.disabled' | 'webhook.paused' | 'webhook.adopted' | 'webhook.ping' | 'webhook.deleted' | 'suppression.created' | 'suppression.deleted' | 'suppression.resubscribed' | 'topic.created' | 'topic.updated' | 'topic.deleted' | 'inbound.received' | 'inbound.forwarded' | 'inbound.forward_failed' | 'inbound_route.created' | 'inbound_route.updated' | 'inbound_route.deleted' | 'erasure.completed' | 'billing.quota_warning' | 'billing.quota_exceeded' | 'billing.invoice_closed' | 'audit.checkpoint' | undefined;
}

export interface ListWebhookReplaysQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
}

export interface ListSuppressionsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Only suppressions with an active entry of this reason. */
  reason?: 'bounce' | 'complaint' | 'unsubscribe' | 'manual' | 'import' | undefined;
  /** Only suppressions with an active entry of this scope. */
  scope?: 'all' | 'transactional' | 'bulk' | 'topic' | undefined;
  /** Only this address. */
  address?: string | undefined;
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
}

export interface CheckSuppressionQuery {
  /** Address to check. */
  address: string;
}

export interface GetSuppressionQuery {
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
}

export interface ListTopicsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
  /** `strict`: respond with `503` while the list lags, as during an upgrade. Default: return what the list has, with `complete_until`. */
  consistency?: 'strict' | undefined;
}

export interface ListOptInsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Only the opt-in of this address. */
  address?: string | undefined;
}

export interface GetTopicQuery {
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
}

export interface ListInboundQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Only messages from this address: the return path, or a sender in the header. */
  from?: string | undefined;
  /** Only messages that this address received. */
  to?: string | undefined;
  /** Only messages to this domain, by id. */
  domain_id?: string | undefined;
  /** Words of the subject. All must occur, for as long as the contents are stored. */
  subject?: string | undefined;
  /** Only messages that answer this message of yours, by its id. */
  in_reply_to_message_id?: string | undefined;
  /** Only messages received at or after this time (ISO 8601). */
  since?: string | undefined;
  /** Only messages received before this time (ISO 8601). */
  until?: string | undefined;
  /** `strict`: respond with `503` while the list lags, as during an upgrade. Default: return what the list has, with `complete_until`. */
  consistency?: 'strict' | undefined;
}

export interface PreviewInboundQuery {
  /** `remote`: load images from other hosts over https, which notifies those hosts; never our own open pixel. */
  images?: 'none' | 'remote' | undefined;
}

export interface ListInboundRoutesQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Only routes of this domain, by id. */
  domain_id?: string | undefined;
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
  /** `strict`: respond with `503` while the list lags, as during an upgrade. Default: return what the list has, with `complete_until`. */
  consistency?: 'strict' | undefined;
}

export interface GetInboundRouteQuery {
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
}

export interface ReadEventsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page, or `start` to begin with the first event. Omitted: the newest page. */
  after?: string | undefined;
  /** Cursor of the last event to return, such as `counted_to.cursor` of an invoice. */
  until?: string | undefined;
  /** Event types, or families such as `message.*`, separated by commas. Default: all. */
  types?: string | undefined;
  /** Only events of this message. */
  message_id?: string | undefined;
  /** Only events of this sending domain and of its messages. */
  domain_id?: string | undefined;
  /** Only events of messages with this tag: `order:1234`. */
  tag?: string | undefined;
  /** Only events of recipients at this domain. */
  recipient_domain?: string | undefined;
  /** Only events of billed messages, from this day (UTC) on. A message is billed for the day on which it was accepted. */
  billed_from?: string | undefined;
  /** Only events of billed messages, before this day (UTC). A message is billed for the day on which it was accepted. */
  billed_to?: string | undefined;
  /** Seconds to wait for the first new event. */
  wait?: number | undefined;
}

export interface GetStatsQuery {
  /** A time in ISO 8601, or a day of the time zone. Default: 30 days before `to`. */
  from?: string | undefined;
  /** Before this time, or this day. Default: now. */
  to?: string | undefined;
  /** Length of a bucket. */
  granularity?: 'hour' | 'day' | 'week' | 'month' | undefined;
  /** IANA time zone of the buckets, and of dates in `from` and `to`. Default: the organization’s. */
  timezone?: string | undefined;
  /** Separate counts for each value of this dimension, or of two: `domain,stream`. */
  group_by?: string | undefined;
  /** `cohort`: counts an outcome at the time at which the message was accepted. `event`: at the time of the outcome itself. */
  attribution?: 'cohort' | 'event' | undefined;
  /** `previous`: also return the period of the same length before `from`. */
  compare?: 'previous' | undefined;
  /** Metrics, separated by commas. Default: all. */
  metrics?: string | undefined;
  /** Only counts of this sending domain, by id. */
  domain?: string | undefined;
  /** Only counts with this value. */
  stream?: string | undefined;
  /** Only counts of this API key, or of the member who sent, by id. */
  api_key?: string | undefined;
  /** Only recipients at this domain. */
  recipient_domain?: string | undefined;
  /** Only counts with this value. */
  mailbox_provider?: string | undefined;
  /** Only bounces of this class. */
  bounce_class?: 'no_mailbox' | 'no_domain' | 'mailbox_disabled' | 'mailbox_full' | 'too_large' | 'content_rejected' | 'spam' | 'policy' | 'reputation' | 'authentication' | 'greylisted' | 'rate_limited' | 'sender_rejected' | 'relay_denied' | 'system' | 'network' | 'protocol' | 'unknown' | undefined;
  /** Only messages with this tag, `campaign:spring`. Cannot be combined with `recipient_domain` or `mailbox_provider`. */
  tag?: string | undefined;
  /** Only messages rendered from this template, by id or alias. `(none)`: from no template. */
  template?: string | undefined;
  /** Only this version of `template`. */
  template_version?: number | undefined;
}

export interface SearchQuery {
  /** Text to search for. */
  q: string;
}

export interface ListRefusedRequestsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Only requests of this API key. */
  key_id?: string | undefined;
  /** Only requests of this member. */
  member_id?: string | undefined;
  /** Only requests that were answered with this error code. */
  code?: string | undefined;
  /** Only requests that were answered with this status. */
  status?: number | undefined;
  /** Only requests to this path, as documented: `/v1/messages/:id`. */
  path?: string | undefined;
  /** Only requests refused at or after this time (ISO 8601), or from this day on (time zone of the organization). */
  since?: string | undefined;
  /** Only requests refused before this time (ISO 8601), or before this day (time zone of the organization). */
  until?: string | undefined;
}

export interface CountRefusedRequestsQuery {
  /** Only requests of this API key. */
  key_id?: string | undefined;
  /** Only requests of this member. */
  member_id?: string | undefined;
  /** Only requests that were answered with this error code. */
  code?: string | undefined;
  /** Only requests that were answered with this status. */
  status?: number | undefined;
  /** Only requests to this path, as documented: `/v1/messages/:id`. */
  path?: string | undefined;
  /** Only requests refused at or after this time (ISO 8601), or from this day on (time zone of the organization). */
  since?: string | undefined;
  /** Only requests refused before this time (ISO 8601), or before this day (time zone of the organization). */
  until?: string | undefined;
}

export interface GetUsageQuery {
  /** A month (UTC), such as 2026-11. Default: the current month. */
  period?: string | undefined;
}

export interface ListInvoicesQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
}

export interface ListAuditLogQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** `desc`: newest first. `asc`: oldest first. */
  order?: 'asc' | 'desc' | undefined;
  /** `key:<id>`, `auditor:<id>`, `member:<id>`, `worker:<name>`, `operator`, `service`, `recipient` or `link` (who has the link to an attachment). */
  actor?: string | undefined;
  /** Only events caused by this key or about it. */
  key_id?: string | undefined;
  /** Only events about this sending domain. */
  domain_id?: string | undefined;
  /** Only events about this message, including reads of it. */
  message_id?: string | undefined;
  /** Only events with all of these words in what was done (`invited`, `passkey`, `rotated`), or in the name of the member, auditor or key that did it or that it is about. */
  q?: string | undefined;
  /** Only events caused by or about a member or an auditor: a part of their name or email address, or their id. */
  person?: string | undefined;
  /** Only events caused by or about an API key: a part of its name, or its id. */
  key?: string | undefined;
  /** Only events of these types, separated by commas, such as `KeyRotated,KeyRevoked`. */
  type?: string | undefined;
  /** `changes` to settings and resources; `reads`: who read or exported what; `sign_ins`; `mail`: what happened to messages; `automatic`: actions of the service. */
  kind?: 'changes' | 'reads' | 'sign_ins' | 'mail' | 'automatic' | undefined;
  /** `exclude`: leave out events caused by background workers. */
  workers?: 'include' | 'exclude' | undefined;
  /** Only requests from this client address, network (`192.0.2.0/24`), or kind of address: `public`, `private` or `loopback`. Addresses are kept for a year. */
  address?: string | undefined;
  /** Only events at or after this time, or from this day on (time zone of the organization). */
  since?: string | undefined;
  /** Only events before this time, or before this day (time zone of the organization). */
  until?: string | undefined;
}

export interface ListCheckpointsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
}

export interface GetConsistencyProofQuery {
  /** The smaller size. */
  from: number;
  /** The larger size. */
  to?: number | undefined;
}

export interface ExportAuditLogQuery {
  /** Index of the first leaf. The export begins at the bundle of 256 leaves that contains it. */
  from?: number | undefined;
}

export interface GetAccessReviewQuery {
  /** Default: according to `Accept`, otherwise `json`. */
  format?: 'json' | 'html' | 'csv' | 'pdf' | undefined;
  /** Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing. */
  at?: string | undefined;
}

export interface GetKeyReportQuery {
  /** Default: according to `Accept`, otherwise `json`. */
  format?: 'json' | 'html' | 'csv' | 'pdf' | undefined;
}

export interface GetMessageReportQuery {
  /** Default: according to `Accept`, otherwise `json`. */
  format?: 'json' | 'html' | 'csv' | 'pdf' | undefined;
}

export interface ListErasuresQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** `strict`: respond with `503` while the list lags, as during an upgrade. Default: return what the list has, with `complete_until`. */
  consistency?: 'strict' | undefined;
}

export interface ListInboxQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Only mail to this recipient. */
  to?: string | undefined;
  /** Only mail whose subject contains this text, in any letter case. */
  subject?: string | undefined;
}

export interface DeleteInboxQuery {
  /** Only mail to this recipient. */
  to?: string | undefined;
  /** Only mail whose subject contains this text, in any letter case. */
  subject?: string | undefined;
}

export interface ListDestinationsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** `strict`: respond with `503` while the list lags, as during an upgrade. Default: return what the list has, with `complete_until`. */
  consistency?: 'strict' | undefined;
}
