// Generated from /openapi.json: see docs/contributing.md.

export interface SendMessageRequest {
  /** An address on the domain of the key, alone or as `Name <address>`. Required, unless the template has one. */
  from?: string | undefined;
  /** One address, or an array of several. `to`, `cc` and `bcc` together: at most 50. An address given several times is one recipient, of the first kind that names it. */
  to: string | readonly string[];
  /** Additional recipients, visible to all. */
  cc?: string | readonly string[] | undefined;
  /** Additional recipients, hidden from the others. */
  bcc?: string | readonly string[] | undefined;
  /** Address for replies. Default: `from`. */
  reply_to?: string | readonly string[] | undefined;
  /** One line. Required without a template. */
  subject?: string | undefined;
  /** Valid HTML, as mail is written, at most 512 elements deep. This or `text` is required. */
  html?: string | undefined;
  /** Plain text. Default: generated from `html`. */
  text?: string | undefined;
  /** The encoded message is at most 25 MB. */
  attachments?: readonly ({
    /** The name that recipients see. */
    filename: string;
    /** Base64 (RFC 4648 §4), padded, without line breaks. */
    content: string;
    /** Media type. Default: by the ending of `filename`, else `application/octet-stream`. */
    content_type?: string | undefined;
    /** Shows the file where the HTML refers to it: `cid:logo` for `logo`. */
    content_id?: string | undefined;
  })[] | undefined;
  /** Alternative forms of the message for programs that support them: an invitation (`text/calendar`), AMP. */
  alternatives?: readonly {
    /** Media type with its parameters: `text/calendar; charset=utf-8; method=REQUEST`. */
    content_type: string;
    /** Base64 (RFC 4648 §4), padded, without line breaks. */
    content: string;
  }[] | undefined;
  /** More headers by name, at most 50: any name of RFC 5322 form, such as `X-…`, `In-Reply-To` or `References`. Not allowed: `From`, `To`, `Cc`, `Bcc`, `Subject`, `Date`, `Message-ID`, `DKIM-Signature`, `Return-Path`, `Received`, `Sender`, `Content-*`, `MIME-Version`, which the service writes; and `Reply-To` or `List-Unsubscribe` together with the field of that name. */
  headers?: Record<string, string> | undefined;
  /** Labels for finding messages. */
  tags?: readonly {
    name: string;
    value: string;
  }[] | undefined;
  /** Your own texts by name, returned with the message and its events. At most 50 texts and 10 kB as JSON. */
  metadata?: Record<string, string> | undefined;
  /** `bulk` is the same mail for many recipients; it should have `unsubscribe`. Default: `"transactional"`. */
  stream?: 'transactional' | 'bulk' | undefined;
  /** How recipients unsubscribe: an address of yours, or `managed` links of this service, one per recipient. Either appears only in the header `List-Unsubscribe`, which many mail programs show as a button; the text is not changed. A recipient who uses a managed link is suppressed: for bulk mail if `stream` is `bulk`, else for all mail. */
  unsubscribe?: 'managed' | {
    url?: string | undefined;
    mailto?: string | undefined;
  } | undefined;
  /** Tracking of openings and of clicks. Omitted fields use the setting of the domain, which is off by default. */
  tracking?: {
    /** Add an invisible image to the html. Loading it creates an `opened` event. */
    opens?: boolean | undefined;
    /** Route links in the html through this service, except those with `data-outbox-track="off"`. */
    clicks?: boolean | undefined;
  } | undefined;
  /** Id of the topic of the message. Recipients can unsubscribe from one topic only; `unsubscribe` then defaults to `managed`. */
  topic?: string | undefined;
  /** When to send, with a time zone, at most 30 days ahead. Default: at once. */
  scheduled_at?: string | undefined;
  /** Seconds to try, from the sending time. Then undelivered recipients are `expired`. Default: `259200`. */
  ttl_seconds?: number | undefined;
  /** `warn` returns the findings of an analysis, `block` refuses a message with errors. Default: as the organization has it, which is `off` unless it was changed. */
  analysis?: 'off' | 'warn' | 'block' | undefined;
  /** Template that replaces subject, html and text. It is rendered now: later versions do not change the message. */
  template?: {
    /** Id or alias of a template. */
    id: string;
    /** Number of the version; the published one when absent. */
    version?: number | undefined;
    /** A language tag: `de-AT` falls back to `de`, and that to the template’s default. */
    locale?: string | undefined;
    /** Values for its variables, by name. */
    variables?: Record<string, unknown> | undefined;
  } | undefined;
}

export interface SendBatchRequest {
  /** Messages, each with the body of a single send. Each uses one request of the rate limit. */
  messages: readonly SendMessageRequest[];
  /** `strict` refuses all if one is invalid, `partial` sends the others. Default: `"strict"`. */
  mode?: 'strict' | 'partial' | undefined;
}

export interface CancelMessagesRequest {
  /** At most 500 messages. */
  ids?: readonly string[] | undefined;
  /** Filters of `GET /v1/messages`. */
  filter?: {
    /** The address of one of its recipients. */
    to?: string | undefined;
    /** The sender’s address. */
    from?: string | undefined;
    /** A tag by name and value, `order:1234`. */
    tag?: string | undefined;
    /** Metadata by name and value, `customer:42`. */
    metadata?: string | undefined;
    /** Words of the subject, all of them in any order, whatever their letter case. The first 24 words of a subject are known, for as long as its contents are kept. In double quotes: the whole subject, whatever its letter case and the amount of white space. */
    subject?: string | undefined;
    /** The API key that sent it. */
    key_id?: string | undefined;
    /** The request that sent it: the `X-Request-Id` of its response. */
    request_id?: string | undefined;
    /** The template it was rendered from, by id or alias. */
    template_id?: string | undefined;
    /** The sending domain. */
    domain_id?: string | undefined;
    /** Accepted at or after this time, ISO 8601, or this day in the time zone of the organization. */
    since?: string | undefined;
    /** Accepted before this time, ISO 8601, or this day in the time zone of the organization. */
    until?: string | undefined;
    /** The domain of one of its recipients. */
    recipient_domain?: string | undefined;
    /** The mailbox provider of one of its recipients, by their domain, as `GET /v1/stats` counts them. */
    mailbox_provider?: 'gmail' | 'outlook' | 'yahoo' | 'yahoo_japan' | 'icloud' | 'comcast' | 'proton' | 'fastmail' | 'zoho' | 'gmx' | 'web_de' | 'telekom' | 'freenet' | 'orange' | 'free' | 'laposte' | 'libero' | 'seznam' | 'wp' | 'yandex' | 'mail_ru' | 'qq' | 'netease' | 'naver' | 'docomo' | 'other' | undefined;
    /** Transactional or bulk. */
    stream?: 'transactional' | 'bulk' | undefined;
    /** Bounce category of at least one recipient. */
    bounce_class?: 'no_mailbox' | 'no_domain' | 'mailbox_disabled' | 'mailbox_full' | 'too_large' | 'content_rejected' | 'spam' | 'policy' | 'reputation' | 'authentication' | 'greylisted' | 'rate_limited' | 'sender_rejected' | 'relay_denied' | 'system' | 'network' | 'protocol' | 'unknown' | undefined;
    /** A code that refused one of its recipients for good or for a while: `550`, `5.1.1`, `451 4.7.1`. */
    smtp_code?: string | undefined;
    /** Default: all waiting messages. */
    status?: 'accepted' | 'scheduled' | 'deferred' | undefined;
  } | undefined;
  /** Returns the messages that would be cancelled, without cancelling them. Default: `false`. */
  dry_run?: boolean | undefined;
}

export interface RescheduleMessageRequest {
  /** When to send, with a time zone. */
  scheduled_at: string;
}

export interface CreateKeyRequest {
  /** Human-readable purpose of the key. */
  name: string;
  /** The domain that the key is bound to. It sends only from addresses of this domain. */
  domain_id: string;
  /** Permissions of the key. Only `admin` includes others. */
  permissions?: readonly ('send' | 'read' | 'manage' | 'admin')[] | undefined;
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
  /** Human-readable purpose of the key. */
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
  /** Minutes for which the old value still works. Default: `1440`. */
  grace_period_minutes?: number | undefined;
  /** Revoke all earlier values now. Default: `false`. */
  revoke_previous?: boolean | undefined;
}

export interface RegisterDomainRequest {
  /** The part after the @ of addresses, such as `mail.example.com`. */
  name: string;
}

export interface UpdateDomainRequest {
  /** Sender as shown on recipient pages. Replaced as a whole; null removes it. */
  branding?: {
    /** The domain’s name when null. Default: `null`. */
    name?: string | null | undefined;
    /** Color of buttons, `#rrggbb`. Their text is black or white, whichever is legible. */
    color?: string | null | undefined;
    /** An https image on your server. Without one, pages load nothing from other hosts. Default: `null`. */
    logo_url?: string | null | undefined;
  } | null | undefined;
  /** Default tracking of mail accepted from now on. A message can override it. */
  tracking?: {
    /** Add an invisible image to the html. Loading it creates an `opened` event. */
    opens?: boolean | undefined;
    /** Route links in the html through this service, except those with `data-outbox-track="off"`. */
    clicks?: boolean | undefined;
  } | undefined;
}

export interface StartWarmUpRequest {
  /** Recipients per destination on the first day, the second, and so on. */
  plan?: readonly number[] | undefined;
}

export interface CreateTemplateRequest {
  /** Unique in your organization. You can use it instead of the id. */
  alias: string;
  /** For people. */
  name: string;
  /** For people. Default: `null`. */
  description?: string | null | undefined;
  /** Liquid. One line. */
  subject: string;
  /** Liquid: `{{ name }}` writes a value, escaped; `{{ name | raw }}` writes it as html. At most 200,000 characters. */
  html: string;
  /** Liquid; null: derived from the html. Default: `null`. */
  text?: string | null | undefined;
  /** Liquid; preview text that mail programs show after the subject. Default: `null`. */
  preheader?: string | null | undefined;
  /** Liquid; default sender of messages. Default: `null`. */
  from?: string | null | undefined;
  /** Liquid; default `reply_to` of messages. */
  reply_to?: readonly string[] | undefined;
  /** Alias of the layout, a template that contains `{{ content }}`. Its published version is copied at publication. Default: `null`. */
  layout?: string | null | undefined;
  /** Language of `html`. Default: `"html"`. */
  format?: 'html' | 'mjml' | undefined;
  /** Inline the styles into the elements at publication. Default: `false`. */
  inline_css?: boolean | undefined;
  /** Every variable that the parts use, at most 100. */
  variables?: readonly ({
    name: string;
    type: 'string' | 'number' | 'boolean' | 'date' | 'url' | 'list' | 'object';
    /** Default: `true`. */
    required?: boolean | undefined;
    /** Default value when a send gives none. */
    default?: unknown | undefined;
    /** Example value, used when the template is published or previewed without values. */
    example?: unknown | undefined;
    /** For people. */
    description?: string | undefined;
  })[] | undefined;
  /** The same in other languages, by language tag; `de-AT` falls back to `de`, and that to the fields above. */
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
  /** For people. */
  name?: string | undefined;
  /** For people. */
  description?: string | null | undefined;
  /** Liquid. One line. */
  subject?: string | undefined;
  /** Liquid: `{{ name }}` writes a value, escaped; `{{ name | raw }}` writes it as html. At most 200,000 characters. */
  html?: string | undefined;
  /** Liquid; null: derived from the html. */
  text?: string | null | undefined;
  /** Liquid; preview text that mail programs show after the subject. */
  preheader?: string | null | undefined;
  /** Liquid; default sender of messages. */
  from?: string | null | undefined;
  /** Liquid; default `reply_to` of messages. */
  reply_to?: readonly string[] | undefined;
  /** Alias of the layout, a template that contains `{{ content }}`. Its published version is copied at publication. */
  layout?: string | null | undefined;
  /** Language of `html`. */
  format?: 'html' | 'mjml' | undefined;
  /** Inline the styles into the elements at publication. */
  inline_css?: boolean | undefined;
  /** Every variable that the parts use, at most 100. */
  variables?: readonly ({
    name: string;
    type: 'string' | 'number' | 'boolean' | 'date' | 'url' | 'list' | 'object';
    /** Default: `true`. */
    required?: boolean | undefined;
    /** Default value when a send gives none. */
    default?: unknown | undefined;
    /** Example value, used when the template is published or previewed without values. */
    example?: unknown | undefined;
    /** For people. */
    description?: string | undefined;
  })[] | undefined;
  /** The same in other languages, by language tag; `de-AT` falls back to `de`, and that to the fields above. */
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
  /** Number of a version. */
  version: number;
}

export interface RenderTemplateRequest {
  /** Number of the version; the draft when absent. */
  version?: number | undefined;
  /** A language tag: `de-AT` falls back to `de`, and that to the template’s default. */
  locale?: string | undefined;
  /** Values by variable name. Default: the values of the examples. */
  variables?: Record<string, unknown> | undefined;
}

export interface TestSendTemplateRequest {
  /** One address, or an array of at most 10. */
  to: string | readonly string[];
  /** Number of the version; the draft when absent. */
  version?: number | undefined;
  /** A language tag: `de-AT` falls back to `de`, and that to the template’s default. */
  locale?: string | undefined;
  /** Values by variable name. Default: the values of the examples. */
  variables?: Record<string, unknown> | undefined;
}

export interface RegisterWebhookRequest {
  /** Events are posted here: HTTPS at a globally routable address, port 443 or 8443, without user and password. While mail is captured (`MAIL_URL=capture:`), plain HTTP, any port and loopback addresses are allowed too. The name is resolved at registration and at every post. */
  url: string;
  /** Event types (`message.delivered`) or families: `message.*`, `domain.*`, `organization.*`, `api_key.*`, `template.*`, `webhook.*`, `suppression.*`, `topic.*`, `erasure.*`, `billing.*`, `audit.*`. */
  events?: readonly string[] | undefined;
  /** A note for people. Default: `null`. */
  description?: string | null | undefined;
  /** Filters for the events that are posted. Both must match. */
  filters?: {
    /** Only events of these sending domains and of their messages; empty: all. */
    domain_ids?: readonly string[] | undefined;
    /** Only events of messages with one of these tags, by name and value: `order:1234`; empty: all. */
    tags?: readonly string[] | undefined;
  } | undefined;
  /** At most 10 headers for every post, such as `authorization`. Their values are kept encrypted and not shown again. Not allowed: `webhook-*`, `svix-*`, `content-*`, `host`, `user-agent`, and headers about the connection. */
  headers?: Record<string, string> | undefined;
}

export interface UpdateWebhookRequest {
  /** Events are posted here: HTTPS at a globally routable address, port 443 or 8443, without user and password. While mail is captured (`MAIL_URL=capture:`), plain HTTP, any port and loopback addresses are allowed too. The name is resolved at registration and at every post. */
  url?: string | undefined;
  /** Event types (`message.delivered`) or families: `message.*`, `domain.*`, `organization.*`, `api_key.*`, `template.*`, `webhook.*`, `suppression.*`, `topic.*`, `erasure.*`, `billing.*`, `audit.*`. */
  events?: readonly string[] | undefined;
  /** A note for people. */
  description?: string | null | undefined;
  /** Filters for the events that are posted. Both must match. */
  filters?: {
    /** Only events of these sending domains and of their messages; empty: all. */
    domain_ids?: readonly string[] | undefined;
    /** Only events of messages with one of these tags, by name and value: `order:1234`; empty: all. */
    tags?: readonly string[] | undefined;
  } | undefined;
  /** At most 10 headers for every post, such as `authorization`. Their values are kept encrypted and not shown again. Not allowed: `webhook-*`, `svix-*`, `content-*`, `host`, `user-agent`, and headers about the connection. */
  headers?: Record<string, string> | undefined;
  /** false: nothing is posted and deliveries wait. true: posting resumes with the waiting deliveries. */
  enabled?: boolean | undefined;
}

export interface RotateWebhookSecretRequest {
  /** Minutes for which posts are signed with the old secret too. Default: `1440`. */
  grace_period_minutes?: number | undefined;
}

export interface ReplayWebhookRequest {
  /** Events from this time on. */
  since?: string | undefined;
  /** Events before this time; absent: up to now. */
  until?: string | undefined;
  /** Events after this cursor of the feed, or `start`; instead of `since`. */
  after?: string | undefined;
}

export interface AddSuppressionsRequest {
  /** One address; or several, in `addresses`. */
  address?: string | undefined;
  /** Several addresses, suppressed for the same reason. */
  addresses?: readonly string[] | undefined;
  /** Mail to block: everything, messages of one `stream`, or messages of one topic. Default: `"all"`. */
  scope?: 'all' | 'transactional' | 'bulk' | 'topic' | undefined;
  /** Id of the topic. Required with scope `topic`, not allowed otherwise. */
  topic_id?: string | undefined;
  /** When it may be sent to again; null: never. */
  expires_at?: string | null | undefined;
  /** Evidence for the suppression. Default: `null`. */
  note?: string | null | undefined;
}

export interface ImportSuppressionsRequest {
  /** The file as text, 10000 rows at most. Its first row names the columns: `address`, and optionally `scope`, `reason`, `expires_at`, `note` and, for scope `topic`, `topic_id`. */
  csv: string;
}

export interface CreateTopicRequest {
  /** Recipients see it when they choose topics. */
  name: string;
  /** A sentence for recipients. Default: `null`. */
  description?: string | null | undefined;
  /** `in`: recipients get it unless they opt out; `out`: only recipients who opt in get it. It cannot be changed. */
  default: 'in' | 'out';
  /** Only mail from this domain can use the topic; null: mail from any domain of the organization. Default: `null`. */
  domain_id?: string | null | undefined;
}

export interface OptInRequest {
  /** Addresses of people who opted in. */
  addresses: readonly string[];
  /** Evidence of consent, in words: how, when and where they opted in. The list shows it to you, not to recipients. Default: `null`. */
  evidence?: string | null | undefined;
}

export interface UpdateTopicRequest {
  /** Recipients see it when they choose topics. */
  name?: string | undefined;
  /** A sentence for recipients; null removes it. */
  description?: string | null | undefined;
}

export interface ChoosePlanRequest {
  /** Id of one of `GET /v1/billing/plans`. */
  plan: string;
}

export interface AddAuditorRequest {
  /** Name of the auditor. */
  name: string;
  /** One email address without a name; null: none. */
  email?: string | null | undefined;
  /** When the token ends (ISO 8601). Latest: the expiry of the requesting key. */
  expires_at: string;
  /** Also disclose contents of mail to the auditor. Default: `false`. */
  contents?: boolean | undefined;
}

export interface RequestErasureRequest {
  /** Address whose data is removed. It is not stored; related data is found by its digest. */
  address: string;
  /** Legal ground (GDPR Art. 17(1)). `requested`: not specified. Default: `"requested"`. */
  reason?: 'requested' | 'no_longer_needed' | 'consent_withdrawn' | 'objection' | 'unlawful' | 'legal_obligation' | undefined;
  /** Also suppress the address for all live mail. Existing suppressions stay either way. Default: `false`. */
  suppress?: boolean | undefined;
}

export interface PreviewErasureRequest {
  /** Address whose data is removed. It is not stored; related data is found by its digest. */
  address: string;
}

export interface UpdateOrganizationRequest {
  /** Name of the organization. */
  name?: string | undefined;
  /** One email address without a name, for mail about the organization itself; null removes it. */
  contact?: string | null | undefined;
  /** Days that contents of messages are kept. 0: until no delivery needs them. */
  content_retention_days?: number | undefined;
  /** Default `analysis` of messages, sent by HTTP or by SMTP. */
  default_analysis?: 'off' | 'warn' | 'block' | undefined;
  /** Which html is accepted from `/v1` (`api`), from `/compat` and by SMTP. `strict`: valid html alone. `browser`: any that a browser shows, unchanged; the problems are recorded as findings of the message. An absent entry keeps its rule. */
  html_validation?: {
    api?: 'strict' | 'browser' | undefined;
    compat?: 'strict' | 'browser' | undefined;
    smtp?: 'strict' | 'browser' | undefined;
  } | undefined;
  /** Default IANA time zone of statistics. */
  timezone?: string | undefined;
  /** A member’s session ends after this many minutes without a request. Also applies to open sessions. */
  session_idle_minutes?: number | undefined;
  /** A member’s session ends after this many hours even if it is used. */
  session_hours?: number | undefined;
}

export interface SetLegalHoldRequest {
  /** true: begin. false: end; removals that waited are then carried out. */
  active: boolean;
}

export interface SetContentsRolesRequest {
  /** All roles that may see contents. Roles that are not listed may not. */
  allowed_to: readonly ('analyst' | 'auditor')[];
}

export interface PauseBulkMailRequest {
  /** true: pause. false: resume. */
  paused: boolean;
}

export interface InviteMemberRequest {
  /** One email address without a name. */
  email: string;
  /** Name of the member. Default: the address. */
  name?: string | undefined;
  /** Role of the member. */
  role: 'owner' | 'developer' | 'analyst' | 'auditor';
}

export interface ChangeMemberRequest {
  /** New role of the member. */
  role: 'owner' | 'developer' | 'analyst' | 'auditor';
}

export interface ReleaseDestinationRequest {
  /** The name in `GET /v1/destinations`. */
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
      code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
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
  /** Template that it was rendered from; null: no template. */
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
  /** `expired`: it was removed when its retention ended, together with sender, recipients, tags and metadata. `erased`: likewise, because a recipient was erased. null: it cannot be read at the moment, which is a fault of the service. */
  content: 'stored' | 'expired' | 'erased' | null;
  recipients: ({
    id: string;
    address: string | null;
    kind: 'to' | 'cc' | 'bcc';
    status: 'accepted' | 'scheduled' | 'sending' | 'delivered' | 'deferred' | 'bounced' | 'failed' | 'suppressed' | 'cancelled' | 'expired';
    complained: boolean;
    unsubscribed: boolean;
    /** A person opened it. Always false without open tracking. */
    opened: boolean;
    /** A person followed a link in it. Always false without click tracking. */
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
  /** The plain text that is sent: the one of the request, or else the one derived from the html. */
  text: string | null;
  headers: Record<string, string>;
  unsubscribe: 'managed' | {
    url: string | null;
    mailto: string | null;
  } | null;
  /** Other forms of the message, base64: an invitation, AMP. */
  alternatives: {
    content_type: string;
    content: string;
  }[];
  /** Findings of its analysis, or, without one, why its html is not valid. */
  findings: Finding[];
  attachments: ({
    filename: string;
    content_type: string;
    content_id: string | null;
    content: string;
  })[];
}

export type OutboxEvent = MessageAcceptedEvent | MessageScheduledEvent | MessageSendingEvent | MessageDeliveredEvent | MessageDeferredEvent | MessageBouncedEvent | MessageEndedEvent | MessageOpenedEvent | MessageClickedEvent | MessageComplainedEvent | MessageUnsubscribedEvent | DomainEvent | DomainTroubleEvent | OrganizationEvent | OrganizationTroubleEvent | ApiKeyEvent | TemplateEvent | WebhookEvent | WebhookDisabledEvent | SuppressionCreatedEvent | SuppressionDeletedEvent | ResubscribedEvent | QuotaEvent | InvoiceClosedEvent | AuditCheckpointEvent | ErasureCompletedEvent | TopicEvent;

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
    /** The first by the recipient or, if `machine` is true, by machines. */
    first?: true | undefined;
    /** Number of times within a minute. */
    count: number;
    /** A machine did it, not the recipient. */
    machine: boolean;
    /** Why it is classified as a machine. */
    machine_reason?: 'apple_privacy_proxy' | 'image_proxy' | 'scanner' | 'head_request' | 'every_link' | 'at_delivery' | undefined;
    /** Family of the program. */
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
    /** The first by the recipient or, if `machine` is true, by machines. */
    first?: true | undefined;
    /** Number of times within a minute. */
    count: number;
    /** A machine did it, not the recipient. */
    machine: boolean;
    /** Why it is classified as a machine. */
    machine_reason?: 'apple_privacy_proxy' | 'image_proxy' | 'scanner' | 'head_request' | 'every_link' | 'at_delivery' | undefined;
    /** Family of the program. */
    client: 'apple_mail' | 'outlook' | 'thunderbird' | 'gmail' | 'yahoo_mail' | 'samsung_mail' | 'edge' | 'firefox' | 'chrome' | 'safari' | 'program' | 'other';
    /** Kind of network that the request came from. The address itself is not stored. */
    network: 'apple' | 'google' | 'microsoft' | 'mail_filter' | 'private' | 'other';
    /** Target of the link; null once the content of the message has expired. */
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
    /** Id of the month’s invoice. The invoice is created after the month ends. */
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
    /** The signed note (C2SP tlog-checkpoint). If you keep it, you can check later whether the past was changed. */
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
      /** Tries of webhook deliveries, with their answers. */
      webhook_tries: number;
      /** Mail of the inbox. */
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
  /** Template that it was rendered from; null: no template. */
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
  /** `expired`: it was removed when its retention ended, together with sender, recipients, tags and metadata. `erased`: likewise, because a recipient was erased. null: it cannot be read at the moment, which is a fault of the service. */
  content: 'stored' | 'expired' | 'erased' | null;
  topic_id: string | null;
  attempts: number;
  /** Tracking applied to its html. */
  tracking: {
    /** Add an invisible image to the html. Loading it creates an `opened` event. */
    opens: boolean;
    /** Route links in the html through this service. Following one creates a `clicked` event. */
    clicks: boolean;
  };
  recipients: ({
    id: string;
    address: string | null;
    kind: 'to' | 'cc' | 'bcc';
    status: 'accepted' | 'scheduled' | 'sending' | 'delivered' | 'deferred' | 'bounced' | 'failed' | 'suppressed' | 'cancelled' | 'expired';
    complained: boolean;
    unsubscribed: boolean;
    /** A person opened it. Always false without open tracking. */
    opened: boolean;
    /** A person followed a link in it. Always false without click tracking. */
    clicked: boolean;
    reason: string | null;
    category: 'no_mailbox' | 'no_domain' | 'mailbox_disabled' | 'mailbox_full' | 'too_large' | 'content_rejected' | 'spam' | 'policy' | 'reputation' | 'authentication' | 'greylisted' | 'rate_limited' | 'sender_rejected' | 'relay_denied' | 'system' | 'network' | 'protocol' | 'unknown' | null;
    next_attempt_at: string | null;
    /** Why a due recipient is held; null: it is not held. */
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
    updated_at: string;
  })[];
}

export interface CreatedApiKey {
  id: string;
  object: 'api_key';
  name: string;
  domain_id: string;
  permissions: ('send' | 'read' | 'manage' | 'admin')[];
  environment: 'live' | 'test';
  /** Requests per minute by kind, with defaults. Lower `rate_limit_ceilings` of the organization apply instead; `RateLimit-Limit` has the effective limit. */
  rate_limits: {
    send: number;
    read: number;
    manage: number;
  };
  allowed_cidrs: string[];
  expires_at: string | null;
  created_at: string;
  last_used_at: string | null;
  /** IP address of the last request. */
  last_used_address: string | null;
  last4: string;
  /** `revoked`: ended for good, by request or with its domain. */
  status: 'active' | 'expired' | 'revoked';
  earlier_secrets: ({
    expires_at: string;
    last_used_at: string | null;
    last4: string;
  })[];
  key: string;
}

export interface ApiKey {
  id: string;
  object: 'api_key';
  name: string;
  domain_id: string;
  permissions: ('send' | 'read' | 'manage' | 'admin')[];
  environment: 'live' | 'test';
  /** Requests per minute by kind, with defaults. Lower `rate_limit_ceilings` of the organization apply instead; `RateLimit-Limit` has the effective limit. */
  rate_limits: {
    send: number;
    read: number;
    manage: number;
  };
  allowed_cidrs: string[];
  expires_at: string | null;
  created_at: string;
  last_used_at: string | null;
  /** IP address of the last request. */
  last_used_address: string | null;
  last4: string;
  /** `revoked`: ended for good, by request or with its domain. */
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
    /** Id of the key or the member, or name of the worker. */
    id: string | null;
    /** Number of the key’s value that was used, from 1; each rotation makes a new value. null: not an API key. */
    secret: number | null;
    /** Last characters of that value. */
    secret_last4: string | null;
    /** Session of the member. null: not a member. */
    session_id: string | null;
  };
  /** IP address of the request. It is stored for a year and shown to auditors and live keys with `admin`; null otherwise. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log; null: not in it yet. */
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
    /** Id of the key or the member, or name of the worker. */
    id: string | null;
    /** Number of the key’s value that was used, from 1; each rotation makes a new value. null: not an API key. */
    secret: number | null;
    /** Last characters of that value. */
    secret_last4: string | null;
    /** Session of the member. null: not a member. */
    session_id: string | null;
  };
  /** IP address of the request. It is stored for a year and shown to auditors and live keys with `admin`; null otherwise. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log; null: not in it yet. */
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
    /** Id of the key or the member, or name of the worker. */
    id: string | null;
    /** Number of the key’s value that was used, from 1; each rotation makes a new value. null: not an API key. */
    secret: number | null;
    /** Last characters of that value. */
    secret_last4: string | null;
    /** Session of the member. null: not a member. */
    session_id: string | null;
  };
  /** IP address of the request. It is stored for a year and shown to auditors and live keys with `admin`; null otherwise. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log; null: not in it yet. */
  leaf_index: number | null;
  details: {
    /** Expiry of the new value. */
    last4: string;
    previous_last4: string;
    /** End of the replaced value’s grace period. */
    previous_key_expires_at: string;
    /** True if all earlier values ended immediately. */
    revoke_previous: boolean;
  };
} | {
  id: string;
  object: 'api_key_history_entry';
  type: 'api_key.revoked';
  at: string;
  actor: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or the member, or name of the worker. */
    id: string | null;
    /** Number of the key’s value that was used, from 1; each rotation makes a new value. null: not an API key. */
    secret: number | null;
    /** Last characters of that value. */
    secret_last4: string | null;
    /** Session of the member. null: not a member. */
    session_id: string | null;
  };
  /** IP address of the request. It is stored for a year and shown to auditors and live keys with `admin`; null otherwise. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log; null: not in it yet. */
  leaf_index: number | null;
  details: Record<string, never>;
} | {
  id: string;
  object: 'api_key_history_entry';
  type: 'api_key.expired';
  at: string;
  actor: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or the member, or name of the worker. */
    id: string | null;
    /** Number of the key’s value that was used, from 1; each rotation makes a new value. null: not an API key. */
    secret: number | null;
    /** Last characters of that value. */
    secret_last4: string | null;
    /** Session of the member. null: not a member. */
    session_id: string | null;
  };
  /** IP address of the request. It is stored for a year and shown to auditors and live keys with `admin`; null otherwise. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log; null: not in it yet. */
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
    /** Id of the key or the member, or name of the worker. */
    id: string | null;
    /** Number of the key’s value that was used, from 1; each rotation makes a new value. null: not an API key. */
    secret: number | null;
    /** Last characters of that value. */
    secret_last4: string | null;
    /** Session of the member. null: not a member. */
    session_id: string | null;
  };
  /** IP address of the request. It is stored for a year and shown to auditors and live keys with `admin`; null otherwise. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log; null: not in it yet. */
  leaf_index: number | null;
  details: Record<string, never>;
} | {
  id: string;
  object: 'api_key_history_entry';
  type: 'api_key.change_refused';
  at: string;
  actor: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or the member, or name of the worker. */
    id: string | null;
    /** Number of the key’s value that was used, from 1; each rotation makes a new value. null: not an API key. */
    secret: number | null;
    /** Last characters of that value. */
    secret_last4: string | null;
    /** Session of the member. null: not a member. */
    session_id: string | null;
  };
  /** IP address of the request. It is stored for a year and shown to auditors and live keys with `admin`; null otherwise. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log; null: not in it yet. */
  leaf_index: number | null;
  details: {
    change: 'update' | 'rotate' | 'revoke' | 'delete';
    /** Code of the error response. */
    code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
  };
} | {
  id: string;
  object: 'api_key_history_entry';
  type: 'domain.deleted';
  at: string;
  actor: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or the member, or name of the worker. */
    id: string | null;
    /** Number of the key’s value that was used, from 1; each rotation makes a new value. null: not an API key. */
    secret: number | null;
    /** Last characters of that value. */
    secret_last4: string | null;
    /** Session of the member. null: not a member. */
    session_id: string | null;
  };
  /** IP address of the request. It is stored for a year and shown to auditors and live keys with `admin`; null otherwise. */
  address: string | null;
  request_id: string | null;
  /** Index in the audit log; null: not in it yet. */
  leaf_index: number | null;
  details: {
    domain_id: string;
  };
};

export interface ApiKeySecret {
  object: 'api_key_secret';
  /** 1 for the key’s first value, one more with each rotation. */
  number: number;
  last4: string;
  /** `grace`: replaced, and works until `ends_at`. */
  status: 'current' | 'grace' | 'ended';
  created_at: string;
  created_by: {
    type: 'key' | 'member' | 'operator' | 'service' | 'worker';
    /** Id of the key or the member, or name of the worker. */
    id: string | null;
    /** Number of the key’s value that was used, from 1; each rotation makes a new value. null: not an API key. */
    secret: number | null;
    /** Last characters of that value. */
    secret_last4: string | null;
    /** Session of the member. null: not a member. */
    session_id: string | null;
  };
  /** IP address of the request. It is stored for a year and shown to auditors and live keys with `admin`; null otherwise. */
  address: string | null;
  request_id: string | null;
  /** Time when it ended or will end; null: no end is set. */
  ends_at: string | null;
  end_reason: 'rotated' | 'key_expired' | 'key_revoked' | 'key_deleted' | 'domain_deleted' | null;
  /** Messages that were accepted with it. */
  sends: number;
  /** Recipients of those messages. */
  recipients: number;
  first_send_at: string | null;
  last_send_at: string | null;
}

export interface RotatedApiKey {
  id: string;
  object: 'api_key';
  name: string;
  domain_id: string;
  permissions: ('send' | 'read' | 'manage' | 'admin')[];
  environment: 'live' | 'test';
  /** Requests per minute by kind, with defaults. Lower `rate_limit_ceilings` of the organization apply instead; `RateLimit-Limit` has the effective limit. */
  rate_limits: {
    send: number;
    read: number;
    manage: number;
  };
  allowed_cidrs: string[];
  expires_at: string | null;
  created_at: string;
  last_used_at: string | null;
  /** IP address of the last request. */
  last_used_address: string | null;
  last4: string;
  /** `revoked`: ended for good, by request or with its domain. */
  status: 'active' | 'expired' | 'revoked';
  earlier_secrets: ({
    expires_at: string;
    last_used_at: string | null;
    last4: string;
  })[];
  key: string;
  previous_key_expires_at: string;
}

export interface Domain {
  id: string;
  object: 'domain';
  name: string;
  /** `degraded`: a required record is missing or wrong; it can send until `fails_at`. `failed`: it cannot send until it is verified again. */
  status: 'pending' | 'verified' | 'degraded' | 'failed';
  /** null: the domain cannot send now. */
  verification: {
    method: 'capture' | 'dns';
    verified_at: string;
  } | null;
  /** When a degraded domain fails unless its records return. */
  fails_at: string | null;
  /** Time of the next automatic check; null: only `verify` checks it. */
  next_check_at: string | null;
  records: ({
    purpose: 'ownership' | 'dkim' | 'return_path' | 'tracking' | 'spf' | 'dmarc';
    type: 'TXT' | 'CNAME';
    /** The full host name. Some DNS providers append the domain themselves. */
    name: string;
    value: string;
    /** Required for the domain to be and stay verified. */
    required: boolean;
    /** `not_needed`: mail is captured and not sent. */
    status: 'pending' | 'verified' | 'not_needed';
    /** Result of the DNS check. `unknown`: not checked yet, or the DNS did not answer; `include_broken`: correct, but the operator of this service has to repair the SPF record of the included name. */
    state: 'valid' | 'missing' | 'invalid' | 'include_broken' | 'unknown';
    /** Problem with the record; null: none. */
    problem: string | null;
    /** Purpose of the record, and hints. */
    advice: string;
    /** DNS answer, shortened and without mailboxes. */
    seen: string[];
    /** Time when this state was first found, or of the last check on request. */
    checked_at: string | null;
  })[];
  dkim: ({
    /** `pending`: its RSA record has not been seen yet. `retired`: no longer signs. */
    status: 'pending' | 'active' | 'retired';
    hosts: string[];
    /** Selectors of the keys that sign. Their records have been found. */
    signing: string[];
    added_at: string | null;
    activated_at: string | null;
    /** Keep the records of retired keys until then: mail in transit is verified with them. */
    safe_to_remove_at: string | null;
    /** True if these records can be removed now. */
    removable: boolean;
  })[];
  /** Results of the last DNS check. */
  authentication: {
    spf: 'valid' | 'missing' | 'invalid' | 'include_broken' | 'unknown';
    dkim: 'valid' | 'missing' | 'invalid' | 'include_broken' | 'unknown';
    dmarc: 'valid' | 'missing' | 'invalid' | 'include_broken' | 'unknown';
  };
  /** Sender as shown on recipient pages; null: the domain’s name. */
  branding: {
    name: string | null;
    color: string | null;
    logo_url: string | null;
  } | null;
  /** Default tracking of its mail. A message can override it. */
  tracking: {
    /** Add an invisible image to the html. Loading it creates an `opened` event. */
    opens: boolean;
    /** Route links in the html through this service. Following one creates a `clicked` event. */
    clicks: boolean;
  };
  created_at: string;
}

export interface Template {
  object: 'template';
  id: string;
  alias: string;
  name: string;
  description: string | null;
  status: 'draft' | 'published';
  /** Version used by sends that do not specify one. */
  published_version: number | null;
  /** True if there are unpublished changes. */
  has_draft: boolean;
  created_at: string;
  updated_at: string;
  /** Content of the draft or, if there is no draft, of the newest version. */
  content: TemplateContent;
}

export interface TemplateContent {
  subject: string;
  html: string;
  /** null: derived from the html. */
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
    /** null: derived from the html. */
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
  /** Version used by sends that do not specify one. */
  published_version: number | null;
  /** True if there are unpublished changes. */
  has_draft: boolean;
  created_at: string;
  updated_at: string;
}

export interface PublishedTemplateVersion {
  object: 'template_version';
  template_id: string;
  version: number;
  /** Version used by sends that do not specify one. */
  published: boolean;
  published_at: string;
  /** `key:` and the id of the API key, or `operator`. */
  published_by: string;
  /** SHA-256 of the content, in hex. */
  content_digest: string;
  /** Rendered with the values of the examples; null: a variable has no example. */
  analysis: TemplateAnalysis | null;
}

export interface TemplateAnalysis {
  object: 'analysis';
  score: number;
  verdict: 'pass' | 'warn' | 'fail';
  findings: TemplateFinding[];
  size_bytes: number;
}

export interface TemplateFinding {
  rule: 'domain-not-verified' | 'dkim-not-valid' | 'spf-not-valid' | 'dmarc-not-valid' | 'authentication-unchecked' | 'mail-captured' | 'sender-name-misleading' | 'lookalike-host' | 'sender-no-reply' | 'unsubscribe-missing' | 'unsubscribe-not-one-click' | 'subject-blank' | 'subject-deceptive' | 'subject-fake-reply' | 'subject-shouting' | 'subject-too-long' | 'subject-long' | 'template-marker' | 'encoding-damage' | 'secret' | 'body-empty' | 'text-differs' | 'text-missing' | 'html-invalid' | 'html-attribute-repeated' | 'html-clipped' | 'html-deep' | 'html-lang-missing' | 'message-large' | 'active-content' | 'hidden-text' | 'external-style' | 'link-script' | 'link-text-mismatch' | 'link-text-other-name' | 'link-private-host' | 'link-ip-address' | 'link-user-name' | 'link-shortener' | 'link-malformed' | 'link-plain-http' | 'link-empty' | 'link-other-site' | 'image-attachment-missing' | 'image-attachment-unused' | 'image-heavy' | 'image-without-source' | 'image-data-uri' | 'image-without-alt' | 'image-without-width' | 'tracking-pixel' | 'attachment-executable' | 'attachment-name-deceptive' | 'attachment-archive';
  severity: 'info' | 'warning' | 'error';
  message: string;
  field: string;
  line?: number | undefined;
  column?: number | undefined;
  fix: string;
  /** Place in the template, such as `html` or `locales.de.html`; null: unknown. */
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
  /** Version used by sends that do not specify one. */
  published: boolean;
  published_at: string;
  /** `key:` and the id of the API key, or `operator`. */
  published_by: string;
  /** SHA-256 of the content, in hex. */
  content_digest: string;
}

export interface TemplateVersion {
  object: 'template_version';
  template_id: string;
  version: number;
  /** Version used by sends that do not specify one. */
  published: boolean;
  published_at: string;
  /** `key:` and the id of the API key, or `operator`. */
  published_by: string;
  /** SHA-256 of the content, in hex. */
  content_digest: string;
  content: TemplateContent;
}

export interface TemplateDiff {
  object: 'template_diff';
  template_id: string;
  /** null: the draft. */
  from: number | null;
  to: number;
  changes: ({
    /** `html`, `locales.de.subject`, `variables`. */
    field: string;
    /** Value in the version `from`; null: none. */
    from: unknown;
    /** Value in the version `to`; null: none. */
    to: unknown;
    /** The lines that changed and three around each; null for a text of one line, and where too many lines differ. */
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
  /** The template’s own text, or the text derived from the html; null: the html contains no words. */
  text: string | null;
  from: string | null;
  reply_to: string[];
  /** Values given that the template does not declare. */
  unused_variables: string[];
  analysis: TemplateAnalysis;
}

export interface CreatedWebhook {
  id: string;
  object: 'webhook';
  url: string;
  events: string[];
  description: string | null;
  environment: 'live' | 'test';
  /** `paused`: the key in `owned_by` has ended. Events wait until the webhook is adopted. */
  status: 'enabled' | 'disabled' | 'paused';
  /** The actor that registered it, or last enabled it, adopted it or changed where its events go. If it is a key without `read`, posts contain no contents of mail. */
  owned_by: {
    type: 'key' | 'member' | 'operator' | 'service';
    id: string | null;
  };
  /** `gone`: it answered 410. `failing`: no delivery succeeded for 5 days. `requested`: by the API. */
  disabled_reason: 'gone' | 'failing' | 'requested' | null;
  /** Start of the current run of failed tries; null: no tries, or the last one succeeded. The webhook is disabled 5 days later. */
  failing_since: string | null;
  filters: {
    /** Events of these sending domains and of their messages only; empty: all. */
    domain_ids: string[];
    /** Events of messages with one of these tags only; empty: all. */
    tags: string[];
  };
  /** Custom headers, whose values are not shown. */
  header_names: string[];
  created_at: string;
  secret: string;
}

export interface Webhook {
  id: string;
  object: 'webhook';
  url: string;
  events: string[];
  description: string | null;
  environment: 'live' | 'test';
  /** `paused`: the key in `owned_by` has ended. Events wait until the webhook is adopted. */
  status: 'enabled' | 'disabled' | 'paused';
  /** The actor that registered it, or last enabled it, adopted it or changed where its events go. If it is a key without `read`, posts contain no contents of mail. */
  owned_by: {
    type: 'key' | 'member' | 'operator' | 'service';
    id: string | null;
  };
  /** `gone`: it answered 410. `failing`: no delivery succeeded for 5 days. `requested`: by the API. */
  disabled_reason: 'gone' | 'failing' | 'requested' | null;
  /** Start of the current run of failed tries; null: no tries, or the last one succeeded. The webhook is disabled 5 days later. */
  failing_since: string | null;
  filters: {
    /** Events of these sending domains and of their messages only; empty: all. */
    domain_ids: string[];
    /** Events of messages with one of these tags only; empty: all. */
    tags: string[];
  };
  /** Custom headers, whose values are not shown. */
  header_names: string[];
  created_at: string;
}

export interface RotatedWebhook {
  id: string;
  object: 'webhook';
  url: string;
  events: string[];
  description: string | null;
  environment: 'live' | 'test';
  /** `paused`: the key in `owned_by` has ended. Events wait until the webhook is adopted. */
  status: 'enabled' | 'disabled' | 'paused';
  /** The actor that registered it, or last enabled it, adopted it or changed where its events go. If it is a key without `read`, posts contain no contents of mail. */
  owned_by: {
    type: 'key' | 'member' | 'operator' | 'service';
    id: string | null;
  };
  /** `gone`: it answered 410. `failing`: no delivery succeeded for 5 days. `requested`: by the API. */
  disabled_reason: 'gone' | 'failing' | 'requested' | null;
  /** Start of the current run of failed tries; null: no tries, or the last one succeeded. The webhook is disabled 5 days later. */
  failing_since: string | null;
  filters: {
    /** Events of these sending domains and of their messages only; empty: all. */
    domain_ids: string[];
    /** Events of messages with one of these tags only; empty: all. */
    tags: string[];
  };
  /** Custom headers, whose values are not shown. */
  header_names: string[];
  created_at: string;
  secret: string;
  previous_secret_expires_at: string;
}

export interface WebhookPing {
  object: 'webhook_ping';
  webhook_id: string;
  event_id: string;
  /** The delivery shows how the endpoint answered. */
  delivery_id: string;
}

export interface WebhookDelivery {
  id: string;
  object: 'webhook_delivery';
  webhook_id: string;
  event_id: string;
  event_type: string;
  /** Recipient that the event concerns; null: not about a message. */
  recipient: {
    id: string;
    address: string | null;
    kind: 'to' | 'cc' | 'bcc' | null;
  } | null;
  /** The replay that it is part of; null: none. */
  replay_id: string | null;
  status: 'pending' | 'delivered' | 'failed';
  created_at: string;
  next_attempt_at: string | null;
  attempts: ({
    at: string;
    request: {
      url: string;
      /** Without the signature; values of custom headers are `[hidden]`. */
      headers: Record<string, string>;
      body_bytes: number;
      /** SHA-256 of the body, in hex: the event as it was at that time. */
      body_sha256: string;
    };
    /** Status of the response; null: no response. */
    status: number | null;
    duration_ms: number;
    /** The first 1 kB of the response, or the reason why there was none. */
    response: string;
  })[];
}

export interface ShownWebhookDelivery {
  id: string;
  object: 'webhook_delivery';
  webhook_id: string;
  event_id: string;
  event_type: string;
  /** Recipient that the event concerns; null: not about a message. */
  recipient: {
    id: string;
    address: string | null;
    kind: 'to' | 'cc' | 'bcc' | null;
  } | null;
  /** The replay that it is part of; null: none. */
  replay_id: string | null;
  status: 'pending' | 'delivered' | 'failed';
  created_at: string;
  next_attempt_at: string | null;
  attempts: ({
    at: string;
    request: {
      url: string;
      /** Without the signature; values of custom headers are `[hidden]`. */
      headers: Record<string, string>;
      body_bytes: number;
      /** SHA-256 of the body, in hex: the event as it was at that time. */
      body_sha256: string;
    };
    /** Status of the response; null: no response. */
    status: number | null;
    duration_ms: number;
    /** The first 1 kB of the response, or the reason why there was none. */
    response: string;
  })[];
  /** The exact body as it would be posted now. Values that have been erased or have expired are null, so its SHA-256 may differ from that of the attempts. */
  body: string;
}

export interface WebhookReplay {
  id: string;
  object: 'webhook_replay';
  webhook_id: string;
  /** `completed`: all of its deliveries have been created. */
  status: 'running' | 'completed' | 'cancelled';
  /** null: it started at a cursor. */
  since: string | null;
  until: string;
  /** Number of its deliveries in each state so far. */
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
  /** null: erased. */
  address: string | null;
  environment: 'live' | 'test';
  status: 'active' | 'expired' | 'removed';
  /** Mail that is blocked by the active entries together. */
  scope: 'all' | 'transactional' | 'bulk' | 'topic';
  /** Reason of the strongest entry, which also determines `expires_at`. */
  reason: 'bounce' | 'complaint' | 'unsubscribe' | 'manual' | 'import';
  expires_at: string | null;
  /** All recorded entries, oldest first, including withdrawn ones. */
  entries: ({
    reason: 'bounce' | 'complaint' | 'unsubscribe' | 'manual' | 'import';
    scope: 'all' | 'transactional' | 'bulk' | 'topic';
    /** Topic of an entry with scope `topic`; null otherwise. */
    topic_id: string | null;
    status: 'active' | 'expired' | 'removed';
    /** Reply of the server, or the note given with it. */
    evidence: string | null;
    /** The message that caused it. */
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
  added: number;
  /** The address had opted in already. The new time and evidence are recorded anyway. */
  unchanged: number;
  /** In the order of `addresses`, each once. */
  data: {
    address: string;
    /** True for each stream in which something else blocks mail about the topic. */
    suppressed: {
      transactional: boolean;
      bulk: boolean;
    };
  }[];
}

export interface TopicOptIn {
  object: 'topic_opt_in';
  topic_id: string;
  /** null: erased. */
  address: string | null;
  /** Source of the opt-in: `recipient` on a page, or `sender` (you). */
  by: 'recipient' | 'sender';
  /** Evidence that you supplied. */
  evidence: string | null;
  /** Message with the link by which the recipient opted in. */
  message_id: string | null;
  recipient_id: string | null;
  opted_in_at: string;
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
      /** `delivered` as a share of `accepted`; null: the latter is 0. */
      delivered?: number | null | undefined;
      /** `deferred` as a share of `accepted`; null: the latter is 0. */
      deferred?: number | null | undefined;
      /** `bounced` as a share of `accepted`; null: the latter is 0. */
      bounced?: number | null | undefined;
      /** `opened` as a share of `delivered`; null: the latter is 0. */
      opened?: number | null | undefined;
      /** `clicked` as a share of `delivered`; null: the latter is 0. */
      clicked?: number | null | undefined;
      /** `complained` as a share of `delivered`; null: the latter is 0. */
      complained?: number | null | undefined;
      /** `unsubscribed` as a share of `delivered`; null: the latter is 0. */
      unsubscribed?: number | null | undefined;
    };
    /** From acceptance or `scheduled_at` to delivery, in milliseconds; null: nothing was delivered. */
    latency_ms: {
      p50: number;
      p90: number;
      p99: number;
    } | null;
  };
  data: ({
    start: string;
    /** Value of the `group_by` dimension, or both values by name. `(other)`: all remaining groups together. */
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
      /** `delivered` as a share of `accepted`; null: the latter is 0. */
      delivered?: number | null | undefined;
      /** `deferred` as a share of `accepted`; null: the latter is 0. */
      deferred?: number | null | undefined;
      /** `bounced` as a share of `accepted`; null: the latter is 0. */
      bounced?: number | null | undefined;
      /** `opened` as a share of `delivered`; null: the latter is 0. */
      opened?: number | null | undefined;
      /** `clicked` as a share of `delivered`; null: the latter is 0. */
      clicked?: number | null | undefined;
      /** `complained` as a share of `delivered`; null: the latter is 0. */
      complained?: number | null | undefined;
      /** `unsubscribed` as a share of `delivered`; null: the latter is 0. */
      unsubscribed?: number | null | undefined;
    };
    /** From acceptance or `scheduled_at` to delivery, in milliseconds; null: nothing was delivered. */
    latency_ms: {
      p50: number;
      p90: number;
      p99: number;
    } | null;
  })[];
  /** With `group_by`: each group over the whole period, largest number of accepted recipients first. */
  groups?: ({
    /** Value of the `group_by` dimension, or both values by name. `(other)`: all remaining groups together. */
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
      /** `delivered` as a share of `accepted`; null: the latter is 0. */
      delivered?: number | null | undefined;
      /** `deferred` as a share of `accepted`; null: the latter is 0. */
      deferred?: number | null | undefined;
      /** `bounced` as a share of `accepted`; null: the latter is 0. */
      bounced?: number | null | undefined;
      /** `opened` as a share of `delivered`; null: the latter is 0. */
      opened?: number | null | undefined;
      /** `clicked` as a share of `delivered`; null: the latter is 0. */
      clicked?: number | null | undefined;
      /** `complained` as a share of `delivered`; null: the latter is 0. */
      complained?: number | null | undefined;
      /** `unsubscribed` as a share of `delivered`; null: the latter is 0. */
      unsubscribed?: number | null | undefined;
    };
    /** From acceptance or `scheduled_at` to delivery, in milliseconds; null: nothing was delivered. */
    latency_ms: {
      p50: number;
      p90: number;
      p99: number;
    } | null;
  })[] | undefined;
  granularity: 'hour' | 'day' | 'week' | 'month';
  timezone: string;
  attribution: 'cohort' | 'event';
  /** Time of the newest event counted. Everything recorded until then is included. */
  complete_until: string;
  /** The period before, with `compare=previous`. */
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
        /** `delivered` as a share of `accepted`; null: the latter is 0. */
        delivered?: number | null | undefined;
        /** `deferred` as a share of `accepted`; null: the latter is 0. */
        deferred?: number | null | undefined;
        /** `bounced` as a share of `accepted`; null: the latter is 0. */
        bounced?: number | null | undefined;
        /** `opened` as a share of `delivered`; null: the latter is 0. */
        opened?: number | null | undefined;
        /** `clicked` as a share of `delivered`; null: the latter is 0. */
        clicked?: number | null | undefined;
        /** `complained` as a share of `delivered`; null: the latter is 0. */
        complained?: number | null | undefined;
        /** `unsubscribed` as a share of `delivered`; null: the latter is 0. */
        unsubscribed?: number | null | undefined;
      };
      /** From acceptance or `scheduled_at` to delivery, in milliseconds; null: nothing was delivered. */
      latency_ms: {
        p50: number;
        p90: number;
        p99: number;
      } | null;
    };
    data: ({
      start: string;
      /** Value of the `group_by` dimension, or both values by name. `(other)`: all remaining groups together. */
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
        /** `delivered` as a share of `accepted`; null: the latter is 0. */
        delivered?: number | null | undefined;
        /** `deferred` as a share of `accepted`; null: the latter is 0. */
        deferred?: number | null | undefined;
        /** `bounced` as a share of `accepted`; null: the latter is 0. */
        bounced?: number | null | undefined;
        /** `opened` as a share of `delivered`; null: the latter is 0. */
        opened?: number | null | undefined;
        /** `clicked` as a share of `delivered`; null: the latter is 0. */
        clicked?: number | null | undefined;
        /** `complained` as a share of `delivered`; null: the latter is 0. */
        complained?: number | null | undefined;
        /** `unsubscribed` as a share of `delivered`; null: the latter is 0. */
        unsubscribed?: number | null | undefined;
      };
      /** From acceptance or `scheduled_at` to delivery, in milliseconds; null: nothing was delivered. */
      latency_ms: {
        p50: number;
        p90: number;
        p99: number;
      } | null;
    })[];
    /** With `group_by`: each group over the whole period, largest number of accepted recipients first. */
    groups?: ({
      /** Value of the `group_by` dimension, or both values by name. `(other)`: all remaining groups together. */
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
        /** `delivered` as a share of `accepted`; null: the latter is 0. */
        delivered?: number | null | undefined;
        /** `deferred` as a share of `accepted`; null: the latter is 0. */
        deferred?: number | null | undefined;
        /** `bounced` as a share of `accepted`; null: the latter is 0. */
        bounced?: number | null | undefined;
        /** `opened` as a share of `delivered`; null: the latter is 0. */
        opened?: number | null | undefined;
        /** `clicked` as a share of `delivered`; null: the latter is 0. */
        clicked?: number | null | undefined;
        /** `complained` as a share of `delivered`; null: the latter is 0. */
        complained?: number | null | undefined;
        /** `unsubscribed` as a share of `delivered`; null: the latter is 0. */
        unsubscribed?: number | null | undefined;
      };
      /** From acceptance or `scheduled_at` to delivery, in milliseconds; null: nothing was delivered. */
      latency_ms: {
        p50: number;
        p90: number;
        p99: number;
      } | null;
    })[] | undefined;
  } | undefined;
}

export interface SearchResult {
  type: 'message' | 'messages' | 'event' | 'request' | 'api_key' | 'domain' | 'template' | 'webhook' | 'webhook_delivery' | 'topic' | 'suppression' | 'erasure' | 'member' | 'tag';
  /** null: the result is a list. */
  id: string | null;
  /** A name, a subject, an event type or a description of the list. */
  title: string;
  /** Path in this API that reads it. */
  path: string;
}

export interface Submission {
  object: 'submission';
  /** Any other name works too. */
  user: string;
  /** Empty: this service does not accept mail by SMTP. */
  servers: ({
    host: string;
    port: number;
    /** `starttls` (RFC 3207): asked for before the password. `implicit` (RFC 8314): from the first byte. `none`: programs on the machine of the service alone are taken. */
    tls: 'none' | 'starttls' | 'implicit';
  })[];
}

export interface RequestRefusal {
  /** The `X-Request-Id` of the answer. */
  id: string;
  object: 'refused_request';
  at: string;
  /** API key that sent the request; null: not an API key. */
  key_id: string | null;
  /** Member who sent the request; null: not a member. */
  member_id: string | null;
  /** Auditor who sent the request; null: not an auditor. */
  auditor_id: string | null;
  method: string;
  /** Documented route, such as `/v1/messages/:id`; null: unknown path. */
  route: string | null;
  /** Requested path, without the query. Segments that may be more than an id or a word are `***`. */
  path: string;
  status: number;
  code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
  message: string;
  /** The first 20 of the error’s `details`, or the place where the JSON becomes invalid. */
  problems: ({
    /** Field name, as in `details` of the error. */
    field: string;
    sentence: string;
    /** JSON Pointer (RFC 6901) to the field, or to the object that lacks it; null: not in the body. */
    pointer: string | null;
    /** Line in the body as sent, from 1; null: not in the body, or too far into it to be located. */
    line: number | null;
    /** Column in that line, from 1, in UTF-16 code units. */
    column: number | null;
    /** Offset in `body.text` where it starts; null: it is not shown. */
    start: number | null;
    /** Offset in `body.text` where it ends. */
    end: number | null;
  })[];
  /** IP address of the request; shown to the key that sent it and to live keys with `admin`. */
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
    code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
    status: number;
    count: number;
  })[];
  principals: ({
    /** API key that sent the request; null: not an API key. */
    key_id: string | null;
    /** Member who sent the request; null: not a member. */
    member_id: string | null;
    /** Auditor who sent the request; null: not an auditor. */
    auditor_id: string | null;
    count: number;
  })[];
}

export interface ShownRequestRefusal {
  /** The `X-Request-Id` of the answer. */
  id: string;
  object: 'refused_request';
  at: string;
  /** API key that sent the request; null: not an API key. */
  key_id: string | null;
  /** Member who sent the request; null: not a member. */
  member_id: string | null;
  /** Auditor who sent the request; null: not an auditor. */
  auditor_id: string | null;
  method: string;
  /** Documented route, such as `/v1/messages/:id`; null: unknown path. */
  route: string | null;
  /** Requested path, without the query. Segments that may be more than an id or a word are `***`. */
  path: string;
  status: number;
  code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
  message: string;
  /** The first 20 of the error’s `details`, or the place where the JSON becomes invalid. */
  problems: ({
    /** Field name, as in `details` of the error. */
    field: string;
    sentence: string;
    /** JSON Pointer (RFC 6901) to the field, or to the object that lacks it; null: not in the body. */
    pointer: string | null;
    /** Line in the body as sent, from 1; null: not in the body, or too far into it to be located. */
    line: number | null;
    /** Column in that line, from 1, in UTF-16 code units. */
    column: number | null;
    /** Offset in `body.text` where it starts; null: it is not shown. */
    start: number | null;
    /** Offset in `body.text` where it ends. */
    end: number | null;
  })[];
  /** IP address of the request; shown to the key that sent it and to live keys with `admin`. */
  client_address: string | null;
  user_agent: string | null;
  duration_ms: number;
  /** Number of requests that this entry represents. Above 1 for requests over a rate or concurrency limit, which are counted per minute. */
  count: number;
  /** General meaning of the code. */
  meaning: string;
  /** How to fix it. */
  remedy: string;
  /** null: the request had no body, it was not stored, or the requesting member’s role may not see it. */
  body: {
    /** At most 4 kB. It shows names, numbers and words of the API. All other text is replaced by `***` and its length, and addresses by `***` and their domain. */
    text: string;
    /** True if the body was sent on one line and is shown on several. */
    formatted: boolean;
    /** True if the body was longer. */
    cut: boolean;
  } | null;
}

export interface Billing {
  object: 'billing';
  plan: Plan;
  period: {
    start: string;
    end: string;
  };
  usage: {
    /** Recipients of accepted live messages, including duplicates, cancelled and bounced ones. Recipients of test keys, suppressed recipients and `failed` ones, which are our fault, are free. */
    billable_recipients: number;
    counted_up_to: string | null;
  };
  /** Recipients of the period that the plan allows; `hard`: more are refused. null: any number. */
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
  /** For a month, in the currency’s minor unit. */
  price: number;
  /** Recipients a month; null: any number. */
  included: number | null;
  /** For each 1,000 recipients above those included, in the currency’s minor unit; a decimal string. */
  overage_per_1000: string;
  /** Recipients a month above which sends are refused; null: none. */
  hard_limit: number | null;
}

export interface Usage {
  object: 'usage';
  period: {
    start: string;
    end: string;
  };
  /** Recipients of accepted live messages, including duplicates, cancelled and bounced ones. Recipients of test keys, suppressed recipients and `failed` ones, which are our fault, are free. */
  billable_recipients: number;
  by_day: {
    date: string;
    /** Recipients of accepted live messages, including duplicates, cancelled and bounced ones. Recipients of test keys, suppressed recipients and `failed` ones, which are our fault, are free. */
    billable_recipients: number;
  }[];
  counted_up_to: string | null;
}

export interface Invoice {
  id: string;
  object: 'invoice';
  period: {
    start: string;
    end: string;
  };
  currency: string;
  /** In the currency’s minor unit; a negative amount is a credit. */
  total: number;
  lines: ({
    /** `plan`: its price for its days. `recipients`: those beyond the included ones. `late_recipients`: how the count of an earlier invoice has changed since. */
    kind: 'plan' | 'recipients' | 'late_recipients';
    from: string;
    /** The day after the last, in UTC. */
    to: string;
    plan: Plan;
    /** Days of a plan, or billable recipients. Negative values are possible for `late_recipients`. */
    quantity: number;
    /** In the currency’s minor unit; a negative amount is a credit. */
    amount: number;
    /** URL of the events it counts, for a live key: `quantity` is the number of `message.accepted`, less those of `message.suppressed` and `message.failed`. null: it counts none. */
    events: string | null;
  })[];
  /** The last event that was counted, as a cursor of the event feed. Later ones are on the next invoice. */
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
  occurred_at: string;
  actor: {
    type: string;
    id: string | null;
    /** Number of the key’s value that was used, from 1; each rotation makes a new value. null: not an API key. */
    secret: number | null;
    /** Last characters of that value. */
    secret_last4: string | null;
    /** Session of the member. null: not a member. */
    session_id: string | null;
  };
  /** IP address of the request. It is stored for a year and shown to auditors and live keys with `admin`; null otherwise. */
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
  /** Number of leaves that it covers, from the first. */
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
  /** Id of the event in the audit entry. */
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
  /** Root hash of the content recorded in the event, in base64; null: the event has no content. */
  content_root: string | null;
  /** In the order in which they form the root (RFC 9162). */
  parts: ({
    name: string;
    /** The hashed data: `[salt, name, value]` as canonical JSON; null: it was removed. */
    leaf: string | null;
    /** Hash of the leaf (RFC 9162), in base64. */
    hash: string;
    removed: {
      reason: 'expired' | 'erased';
      at: string;
      erasure_id: string | null;
    } | null;
  })[];
  /** Reply of the mail server, `reply`: the root is its hash. null: there was no reply. */
  reply: {
    /** Root hash recorded in the event, in base64. */
    root: string;
    part: {
      name: string;
      /** The hashed data: `[salt, name, value]` as canonical JSON; null: it was removed. */
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
  /** Origin of the request, `client`: address and user agent. The root is its hash. null: not recorded for such requests. */
  origin: {
    /** Root hash recorded in the event, in base64. */
    root: string;
    part: {
      name: string;
      /** The hashed data: `[salt, name, value]` as canonical JSON; null: it was removed. */
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
  type: 'api_key' | 'message';
  id: string;
  title: string;
  made_at: string;
  facts: {
    name: string;
    value: string;
  }[];
  /** For a key: messages sent so far with each of its last 100 secrets, newest first. */
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
  /** null: not signed yet. */
  checkpoint: {
    size: number;
    /** The signed note that the proofs refer to. */
    note: string;
    verifier_key: string;
    signed_at: string;
  } | null;
}

export interface AddedAuditor {
  id: string;
  object: 'auditor';
  /** null: it was erased with the address. */
  name: string | null;
  email: string | null;
  contents: boolean;
  status: 'active' | 'expired';
  expires_at: string;
  token_last4: string;
  created_at: string;
  token: string;
}

export interface Auditor {
  id: string;
  object: 'auditor';
  /** null: it was erased with the address. */
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
  /** `running`: things are being removed, or messages have not ended for all of their recipients yet. `held`: a legal hold of the organization delays it. */
  state: 'running' | 'held' | 'completed';
  /** Legal ground (GDPR Art. 17(1)). `requested`: not specified. */
  reason: 'requested' | 'no_longer_needed' | 'consent_withdrawn' | 'objection' | 'unlawful' | 'legal_obligation';
  suppress: boolean;
  progress: {
    /** Number so far. */
    removed: {
      /** Messages, each with its addresses, subject, bodies, attachments, tags and metadata. */
      messages: number;
      /** Texts of replies and reports from mail servers. */
      replies: number;
      /** Addresses of clicked links. */
      links: number;
      /** Addresses and notes of suppressions. */
      suppression_evidence: number;
      /** Tries of webhook deliveries, with their answers. */
      webhook_tries: number;
      /** Mail of the inbox. */
      captured_mail: number;
      /** Contact addresses of the organization and of auditors. */
      contacts: number;
    };
    /** Messages that are removed once they have ended for all recipients. */
    waiting_messages: number;
    /** null: not started. */
    updated_at: string | null;
  };
  /** null: still running. */
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
      /** Tries of webhook deliveries, with their answers. */
      webhook_tries: number;
      /** Mail of the inbox. */
      captured_mail: number;
      /** Contact addresses of the organization and of auditors. */
      contacts: number;
    };
    completed_at: string;
    /** Position in the log. */
    log_position: string | null;
  } | null;
  created_at: string;
}

export interface Session {
  /** Id of the session; null: the request was authenticated by an API key. */
  id: string | null;
  object: 'session';
  /** null: an API key. */
  member: {
    id: string;
    name: string;
    email: string | null;
    role: 'owner' | 'developer' | 'analyst' | 'auditor';
  } | null;
  /** null: a member. */
  api_key_id: string | null;
  permissions: ('send' | 'read' | 'manage' | 'admin')[];
  /** True if addresses, subjects and bodies of mail are visible. */
  contents: boolean;
  /** True if changes are allowed. */
  changes: boolean;
  /** True if `GET /v1/service` is allowed. */
  operator: boolean;
  /** Until then, actions that require recent authentication are allowed; later they fail with `presence_required`. null: an API key. */
  present_until: string | null;
  /** Until then the member, who has no passkey and signed in with a link from the operator, may add one without authenticating again. null: not allowed. */
  first_passkey_until: string | null;
  /** Environment of this request. Members choose it with `environment=test` in the query of any request; `live` otherwise. */
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
  /** The passkey is synced between devices. */
  synced: boolean;
  created_at: string;
}

export interface InvitedMember {
  id: string;
  object: 'member';
  name: string;
  /** null: the first owner, who has no address yet. */
  email: string | null;
  role: 'owner' | 'developer' | 'analyst' | 'auditor';
  /** May read the health of the service. Only the command line of the service grants it. */
  operator: boolean;
  /** `invited`: they have not accepted the invitation yet. */
  status: 'invited' | 'joined';
  invited_at: string;
  /** Until then the invitation can be accepted. null: they have joined, or the invitation has expired. */
  invitation_expires_at: string | null;
  joined_at: string | null;
  /** Number of passkeys (`GET /v1/members/:id/passkeys`). */
  passkeys: number;
  link: {
    object: 'sign_in_link';
    /** Shown once. The part after `#` is not sent to any server until the person confirms. */
    url: string;
    expires_at: string;
    /** True if the link was also mailed to the member. False if mail is captured. */
    mailed: boolean;
  };
}

export interface Member {
  id: string;
  object: 'member';
  name: string;
  /** null: the first owner, who has no address yet. */
  email: string | null;
  role: 'owner' | 'developer' | 'analyst' | 'auditor';
  /** May read the health of the service. Only the command line of the service grants it. */
  operator: boolean;
  /** `invited`: they have not accepted the invitation yet. */
  status: 'invited' | 'joined';
  invited_at: string;
  /** Until then the invitation can be accepted. null: they have joined, or the invitation has expired. */
  invitation_expires_at: string | null;
  joined_at: string | null;
  /** Number of passkeys (`GET /v1/members/:id/passkeys`). */
  passkeys: number;
}

export interface SignInLink {
  object: 'sign_in_link';
  /** Shown once. The part after `#` is not sent to any server until the person confirms. */
  url: string;
  expires_at: string;
  /** True if the link was also mailed to the member. False if mail is captured. */
  mailed: boolean;
}

export interface MemberSession {
  id: string;
  object: 'member_session';
  member_id: string;
  member_name: string;
  /** True for the session that sent this request. */
  is_current: boolean;
  started_at: string;
  /** Rounded to the minute. */
  last_used_at: string;
  /** IP address of its last request. */
  last_address: string | null;
  /** The session ends earlier if it is idle for longer than the organization allows. */
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
  /** It contains a sign-in link: only an owner who has recently authenticated can read it. */
  confidential: boolean;
  attachments: ({
    filename: string | null;
    content_type: string;
    size_bytes: number;
  })[];
}

export interface CapturedMail {
  id: string;
  object: 'captured_mail';
  received_at: string;
  envelope: {
    from: string;
    to: string[];
  };
  subject: string | null;
  size_bytes: number;
  /** It contains a sign-in link: only an owner who has recently authenticated can read it. */
  confidential: boolean;
  attachments: ({
    filename: string | null;
    content_type: string;
    size_bytes: number;
  })[];
  headers: {
    name: string;
    value: string;
  }[];
  text: string | null;
  html: string | null;
  /** Headers, text or html had more than 1 MB and were cut. The source has all of it. */
  truncated: boolean;
}

export interface DestinationBacklog {
  object: 'destination_backlog';
  /** false: deferrals older than those examined may have left more mail waiting. */
  complete: boolean;
  data: ({
    /** Domain name in A-labels (ASCII). */
    recipient_domain: string;
    /** Recipients that wait for another attempt. */
    recipients: number;
    /** Time of the oldest of these deferrals that was examined. */
    since: string;
    /** Time of the earliest next attempt. */
    next_attempt_at: string;
    /** Highest number of attempts for one recipient. */
    attempts: number;
    /** Reply that caused the newest deferral. `GET /v1/messages/{id}/explain` has its text. */
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
    code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
    details?: Record<string, string[]> | undefined;
    retry_after?: number | undefined;
  };
}

export interface ListMessagesAnswer {
  object: 'list';
  data: ListedMessage[];
  has_more: boolean;
  next_cursor: string | null;
  /** Moment that the response describes. Only in responses to requests with `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetMessageAnswer {
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
  /** Template that it was rendered from; null: no template. */
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
  /** `expired`: it was removed when its retention ended, together with sender, recipients, tags and metadata. `erased`: likewise, because a recipient was erased. null: it cannot be read at the moment, which is a fault of the service. */
  content: 'stored' | 'expired' | 'erased' | null;
  topic_id: string | null;
  attempts: number;
  /** Tracking applied to its html. */
  tracking: {
    /** Add an invisible image to the html. Loading it creates an `opened` event. */
    opens: boolean;
    /** Route links in the html through this service. Following one creates a `clicked` event. */
    clicks: boolean;
  };
  recipients: ({
    id: string;
    address: string | null;
    kind: 'to' | 'cc' | 'bcc';
    status: 'accepted' | 'scheduled' | 'sending' | 'delivered' | 'deferred' | 'bounced' | 'failed' | 'suppressed' | 'cancelled' | 'expired';
    complained: boolean;
    unsubscribed: boolean;
    /** A person opened it. Always false without open tracking. */
    opened: boolean;
    /** A person followed a link in it. Always false without click tracking. */
    clicked: boolean;
    reason: string | null;
    category: 'no_mailbox' | 'no_domain' | 'mailbox_disabled' | 'mailbox_full' | 'too_large' | 'content_rejected' | 'spam' | 'policy' | 'reputation' | 'authentication' | 'greylisted' | 'rate_limited' | 'sender_rejected' | 'relay_denied' | 'system' | 'network' | 'protocol' | 'unknown' | null;
    next_attempt_at: string | null;
    /** Why a due recipient is held; null: it is not held. */
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
    updated_at: string;
  })[];
  /** Moment that the response describes. Only in responses to requests with `at`. */
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
  /** One per recipient not delivered yet; empty: none waits. */
  waiting_because: ({
    recipient: {
      id: string;
      address: string | null;
    };
    reason: 'scheduled' | 'due_now' | 'in_hand' | 'attempt_lost' | 'outcome_unknown' | 'held' | 'destination_suspended' | 'greylisted' | 'told_to_wait' | 'not_handed_over';
    sentence: string;
    /** Latest time of the next step; null: no fixed time. */
    next_attempt_at: string | null;
  })[];
  /** Oldest first: the request, the checks, every attempt and reply, webhooks. */
  steps: ({
    at: string;
    actor: {
      /** `key`, `member`, `recipient`, `worker`, `operator` or `service`. */
      type: string;
      id: string | null;
    };
    type: 'requested' | 'key_checked' | 'domain_checked' | 'rendered' | 'html_checked' | 'analyzed' | 'accepted' | 'scheduled' | 'rescheduled' | 'held' | 'attempt_started' | 'outcome_unknown' | 'delivered' | 'deferred' | 'bounced' | 'expired' | 'failed' | 'suppressed' | 'cancelled' | 'opened' | 'clicked' | 'complained' | 'report_noted' | 'unsubscribed' | 'webhook_owed' | 'webhook_tried';
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
  /** Entries omitted from a long history, and where to list them. */
  left_out: string | null;
  /** Moment that the response describes. Only in responses to requests with `at`. */
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
  /** Messages of this request. */
  matched: number;
  cancelled: number;
  /** More than 500 messages match. Repeat the request: cancelled messages no longer match. */
  has_more: boolean;
  data: ({
    id: string;
    cancelled: boolean;
    error: {
      code: 'invalid_request' | 'invalid_json' | 'invalid_cursor' | 'invalid_html' | 'header_not_allowed' | 'unauthorized' | 'cross_site_request' | 'permission_missing' | 'presence_required' | 'wider_than_own_key' | 'environment_not_allowed' | 'address_not_allowed' | 'from_domain_mismatch' | 'organization_suspended' | 'other_organization' | 'not_found' | 'content_gone' | 'link_suspended' | 'not_signed_yet' | 'signing_stopped' | 'method_not_allowed' | 'domain_already_exists' | 'domain_is_public_suffix' | 'key_not_active' | 'too_many_live_secrets' | 'webhook_disabled' | 'last_admin_key' | 'message_being_sent' | 'message_ended' | 'message_not_scheduled' | 'template_invalid' | 'template_not_published' | 'template_variables_invalid' | 'resource_conflict' | 'precondition_failed' | 'body_too_large' | 'unsupported_media_type' | 'domain_not_verified' | 'too_many_topics' | 'too_many_webhooks' | 'last_owner' | 'member_already_exists' | 'too_many_members' | 'sign_in_link_invalid' | 'passkey_invalid' | 'oidc_invalid' | 'oidc_address_unverified' | 'oidc_no_member' | 'too_many_passkeys' | 'too_many_auditors' | 'topic_not_usable' | 'schedule_not_possible' | 'quota_exceeded' | 'plan_not_offered' | 'batch_exceeds_limit' | 'analysis_failed' | 'idempotency_key_reused' | 'rate_limit_exceeded' | 'unavailable' | 'internal_error';
      message: string;
    } | null;
  })[];
}

export interface ListKeysAnswer {
  object: 'list';
  data: ApiKey[];
  has_more: boolean;
  next_cursor: string | null;
  /** Moment that the response describes. Only in responses to requests with `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetKeyAnswer {
  id: string;
  object: 'api_key';
  name: string;
  domain_id: string;
  permissions: ('send' | 'read' | 'manage' | 'admin')[];
  environment: 'live' | 'test';
  /** Requests per minute by kind, with defaults. Lower `rate_limit_ceilings` of the organization apply instead; `RateLimit-Limit` has the effective limit. */
  rate_limits: {
    send: number;
    read: number;
    manage: number;
  };
  allowed_cidrs: string[];
  expires_at: string | null;
  created_at: string;
  last_used_at: string | null;
  /** IP address of the last request. */
  last_used_address: string | null;
  last4: string;
  /** `revoked`: ended for good, by request or with its domain. */
  status: 'active' | 'expired' | 'revoked';
  earlier_secrets: ({
    expires_at: string;
    last_used_at: string | null;
    last4: string;
  })[];
  /** Moment that the response describes. Only in responses to requests with `at`. */
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
  /** Moment that the response describes. Only in responses to requests with `at`. */
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
  /** Moment that the response describes. Only in responses to requests with `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetDomainAnswer {
  id: string;
  object: 'domain';
  name: string;
  /** `degraded`: a required record is missing or wrong; it can send until `fails_at`. `failed`: it cannot send until it is verified again. */
  status: 'pending' | 'verified' | 'degraded' | 'failed';
  /** null: the domain cannot send now. */
  verification: {
    method: 'capture' | 'dns';
    verified_at: string;
  } | null;
  /** When a degraded domain fails unless its records return. */
  fails_at: string | null;
  /** Time of the next automatic check; null: only `verify` checks it. */
  next_check_at: string | null;
  records: ({
    purpose: 'ownership' | 'dkim' | 'return_path' | 'tracking' | 'spf' | 'dmarc';
    type: 'TXT' | 'CNAME';
    /** The full host name. Some DNS providers append the domain themselves. */
    name: string;
    value: string;
    /** Required for the domain to be and stay verified. */
    required: boolean;
    /** `not_needed`: mail is captured and not sent. */
    status: 'pending' | 'verified' | 'not_needed';
    /** Result of the DNS check. `unknown`: not checked yet, or the DNS did not answer; `include_broken`: correct, but the operator of this service has to repair the SPF record of the included name. */
    state: 'valid' | 'missing' | 'invalid' | 'include_broken' | 'unknown';
    /** Problem with the record; null: none. */
    problem: string | null;
    /** Purpose of the record, and hints. */
    advice: string;
    /** DNS answer, shortened and without mailboxes. */
    seen: string[];
    /** Time when this state was first found, or of the last check on request. */
    checked_at: string | null;
  })[];
  dkim: ({
    /** `pending`: its RSA record has not been seen yet. `retired`: no longer signs. */
    status: 'pending' | 'active' | 'retired';
    hosts: string[];
    /** Selectors of the keys that sign. Their records have been found. */
    signing: string[];
    added_at: string | null;
    activated_at: string | null;
    /** Keep the records of retired keys until then: mail in transit is verified with them. */
    safe_to_remove_at: string | null;
    /** True if these records can be removed now. */
    removable: boolean;
  })[];
  /** Results of the last DNS check. */
  authentication: {
    spf: 'valid' | 'missing' | 'invalid' | 'include_broken' | 'unknown';
    dkim: 'valid' | 'missing' | 'invalid' | 'include_broken' | 'unknown';
    dmarc: 'valid' | 'missing' | 'invalid' | 'include_broken' | 'unknown';
  };
  /** Sender as shown on recipient pages; null: the domain’s name. */
  branding: {
    name: string | null;
    color: string | null;
    logo_url: string | null;
  } | null;
  /** Default tracking of its mail. A message can override it. */
  tracking: {
    /** Add an invisible image to the html. Loading it creates an `opened` event. */
    opens: boolean;
    /** Route links in the html through this service. Following one creates a `clicked` event. */
    clicks: boolean;
  };
  created_at: string;
  /** Moment that the response describes. Only in responses to requests with `at`. */
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
  /** `warned`: no effect yet. `slowed`: live bulk mail is sent one message at a time. `paused`: it waits. Transactional mail is never restricted. */
  level: 'good' | 'warned' | 'slowed' | 'paused';
  /** Reason for the level; null: the level is `good`. */
  measure: 'bounces' | 'complaints' | null;
  /** null: the level was always `good`. */
  since: string | null;
  /** Earlier mail is not counted. */
  released_at: string | null;
  /** Recipients without a mailbox, relative to delivered recipients and those without a mailbox. */
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
  /** Recipients who complained, relative to delivered recipients. */
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
  /** The same for all domains of the organization together. The worse of the two levels applies. */
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
  /** `none`: never started, or ended early. */
  status: 'none' | 'running' | 'over';
  /** Recipients per day and destination, from the first day. */
  plan: number[];
  starts_on: string | null;
  /** The last day of the plan. */
  ends_on: string | null;
  /** Today’s number, from 1; null: no plan runs. */
  day: number | null;
  /** Today’s quota of each destination; null: no plan runs. */
  recipients_max: number | null;
  /** The destinations with most mail today, at most 100. */
  today: {
    /** The mailbox provider. */
    destination: string;
    /** Recipients sent to, plus reserved ones: a twentieth of the quota at a time. */
    recipients: number;
  }[];
}

export interface StartWarmUpAnswer {
  object: 'domain_warm_up';
  domain_id: string;
  /** `none`: never started, or ended early. */
  status: 'none' | 'running' | 'over';
  /** Recipients per day and destination, from the first day. */
  plan: number[];
  starts_on: string | null;
  /** The last day of the plan. */
  ends_on: string | null;
  /** Today’s number, from 1; null: no plan runs. */
  day: number | null;
  /** Today’s quota of each destination; null: no plan runs. */
  recipients_max: number | null;
  /** The destinations with most mail today, at most 100. */
  today: {
    /** The mailbox provider. */
    destination: string;
    /** Recipients sent to, plus reserved ones: a twentieth of the quota at a time. */
    recipients: number;
  }[];
}

export interface ListTemplatesAnswer {
  object: 'list';
  data: ListedTemplate[];
  has_more: boolean;
  next_cursor: string | null;
  /** Moment that the response describes. Only in responses to requests with `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetTemplateAnswer {
  object: 'template';
  id: string;
  alias: string;
  name: string;
  description: string | null;
  status: 'draft' | 'published';
  /** Version used by sends that do not specify one. */
  published_version: number | null;
  /** True if there are unpublished changes. */
  has_draft: boolean;
  created_at: string;
  updated_at: string;
  /** Content of the draft or, if there is no draft, of the newest version. */
  content: TemplateContent;
  /** Moment that the response describes. Only in responses to requests with `at`. */
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
  /** Moment that the response describes. Only in responses to requests with `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetWebhookAnswer {
  id: string;
  object: 'webhook';
  url: string;
  events: string[];
  description: string | null;
  environment: 'live' | 'test';
  /** `paused`: the key in `owned_by` has ended. Events wait until the webhook is adopted. */
  status: 'enabled' | 'disabled' | 'paused';
  /** The actor that registered it, or last enabled it, adopted it or changed where its events go. If it is a key without `read`, posts contain no contents of mail. */
  owned_by: {
    type: 'key' | 'member' | 'operator' | 'service';
    id: string | null;
  };
  /** `gone`: it answered 410. `failing`: no delivery succeeded for 5 days. `requested`: by the API. */
  disabled_reason: 'gone' | 'failing' | 'requested' | null;
  /** Start of the current run of failed tries; null: no tries, or the last one succeeded. The webhook is disabled 5 days later. */
  failing_since: string | null;
  filters: {
    /** Events of these sending domains and of their messages only; empty: all. */
    domain_ids: string[];
    /** Events of messages with one of these tags only; empty: all. */
    tags: string[];
  };
  /** Custom headers, whose values are not shown. */
  header_names: string[];
  created_at: string;
  /** Moment that the response describes. Only in responses to requests with `at`. */
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
  /** The address was on the list for this reason already. */
  unchanged: number;
  /** In the order of `addresses`, each once. */
  data: Suppression[];
};

export interface ListSuppressionsAnswer {
  object: 'list';
  data: Suppression[];
  has_more: boolean;
  next_cursor: string | null;
  /** Moment that the response describes. Only in responses to requests with `at`. */
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
  /** For mail without a topic. `entries` of the suppression name the topics. */
  suppressed: {
    transactional: boolean;
    bulk: boolean;
  };
  /** Ids of topics that its owner has opted in to, on the page or by you. */
  opted_in: string[];
  /** Known facts about the address; null: none. */
  suppression: Suppression | null;
}

export type ExportSuppressionsAnswer = string;

export interface ImportSuppressionsAnswer {
  object: 'suppression_import';
  imported: number;
  /** The address was on the list for this reason already. */
  unchanged: number;
  refused: number;
  /** One for each refused row. */
  problems: {
    line: number;
    message: string;
  }[];
}

export interface GetSuppressionAnswer {
  id: string;
  object: 'suppression';
  /** null: erased. */
  address: string | null;
  environment: 'live' | 'test';
  status: 'active' | 'expired' | 'removed';
  /** Mail that is blocked by the active entries together. */
  scope: 'all' | 'transactional' | 'bulk' | 'topic';
  /** Reason of the strongest entry, which also determines `expires_at`. */
  reason: 'bounce' | 'complaint' | 'unsubscribe' | 'manual' | 'import';
  expires_at: string | null;
  /** All recorded entries, oldest first, including withdrawn ones. */
  entries: ({
    reason: 'bounce' | 'complaint' | 'unsubscribe' | 'manual' | 'import';
    scope: 'all' | 'transactional' | 'bulk' | 'topic';
    /** Topic of an entry with scope `topic`; null otherwise. */
    topic_id: string | null;
    status: 'active' | 'expired' | 'removed';
    /** Reply of the server, or the note given with it. */
    evidence: string | null;
    /** The message that caused it. */
    message_id: string | null;
    recipient_id: string | null;
    added_at: string;
    expires_at: string | null;
    removed_at: string | null;
  })[];
  created_at: string;
  /** Moment that the response describes. Only in responses to requests with `at`. */
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
  /** Moment that the response describes. Only in responses to requests with `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface GetTopicAnswer {
  id: string;
  object: 'topic';
  name: string;
  description: string | null;
  default: 'in' | 'out';
  domain_id: string | null;
  created_at: string;
  /** Moment that the response describes. Only in responses to requests with `at`. */
  as_of?: {
    /** Time of the last event at or before the requested moment. */
    time: string;
    /** Index of that event in the audit log. */
    leaf_index: number;
  } | undefined;
}

export interface ReadEventsAnswer {
  object: 'list';
  data: OutboxEvent[];
  has_more: boolean;
  next_cursor: string | null;
}

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
    /** Tries of webhook deliveries, with their answers. */
    webhook_tries: number;
    /** Mail of the inbox. */
    captured_mail: number;
    /** Contact addresses of the organization and of auditors. */
    contacts: number;
  };
  /** Messages that have not ended for all of their recipients. */
  waiting_messages: number;
  /** True if only the newest messages were counted. */
  has_more: boolean;
}

export interface ListErasuresAnswer {
  object: 'list';
  data: Erasure[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface GetOrganizationAnswer {
  id: string;
  object: 'organization';
  name: string;
  /** Address for mail from the service to the organization; null: no mail is sent. */
  contact: string | null;
  content_retention_days: number;
  default_analysis: 'off' | 'warn' | 'block';
  /** Html accepted by the API and by SMTP: valid html only, or any that a browser can show. */
  html_validation: {
    api: 'strict' | 'browser';
    compat: 'strict' | 'browser';
    smtp: 'strict' | 'browser';
  };
  timezone: string;
  /** A member’s session ends after this many minutes without a request. */
  session_idle_minutes: number;
  /** A member’s session ends after this many hours even if it is used. */
  session_hours: number;
  /** Roles that may see addresses, subjects and bodies of mail, which are otherwise hidden from them. */
  contents_allowed_to: ('analyst' | 'auditor')[];
  rate_limit_ceilings: {
    send?: number | undefined;
    read?: number | undefined;
    manage?: number | undefined;
  } | null;
  /** Start of the legal hold, during which neither retention nor erasures remove anything; null: no legal hold. */
  legal_hold_since: string | null;
  /** Since when and why the operator lets the organization send no mail; null: it may send. */
  suspension: {
    since: string;
    /** The operator's reason. */
    reason: string;
  } | null;
  created_at: string;
}

export interface GetOrganizationReputationAnswer {
  object: 'organization_reputation';
  organization_id: string;
  /** `warned`: no effect yet. `slowed`: live bulk mail is sent one message at a time. `paused`: it waits. Transactional mail is never restricted. */
  level: 'good' | 'warned' | 'slowed' | 'paused';
  /** Reason for the level; null: the level is `good`. */
  measure: 'bounces' | 'complaints' | null;
  /** null: the level was always `good`. */
  since: string | null;
  /** Earlier mail is not counted. */
  released_at: string | null;
  /** Recipients without a mailbox, relative to delivered recipients and those without a mailbox. */
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
  /** Recipients who complained, relative to delivered recipients. */
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
  /** Time when all live bulk mail was paused by request, independently of the level; null: not paused by request. */
  bulk_mail_paused_since: string | null;
}

export interface UpdateOrganizationAnswer {
  id: string;
  object: 'organization';
  name: string;
  /** Address for mail from the service to the organization; null: no mail is sent. */
  contact: string | null;
  content_retention_days: number;
  default_analysis: 'off' | 'warn' | 'block';
  /** Html accepted by the API and by SMTP: valid html only, or any that a browser can show. */
  html_validation: {
    api: 'strict' | 'browser';
    compat: 'strict' | 'browser';
    smtp: 'strict' | 'browser';
  };
  timezone: string;
  /** A member’s session ends after this many minutes without a request. */
  session_idle_minutes: number;
  /** A member’s session ends after this many hours even if it is used. */
  session_hours: number;
  /** Roles that may see addresses, subjects and bodies of mail, which are otherwise hidden from them. */
  contents_allowed_to: ('analyst' | 'auditor')[];
  rate_limit_ceilings: {
    send?: number | undefined;
    read?: number | undefined;
    manage?: number | undefined;
  } | null;
  /** Start of the legal hold, during which neither retention nor erasures remove anything; null: no legal hold. */
  legal_hold_since: string | null;
  /** Since when and why the operator lets the organization send no mail; null: it may send. */
  suspension: {
    since: string;
    /** The operator's reason. */
    reason: string;
  } | null;
  created_at: string;
}

export interface SetLegalHoldAnswer {
  id: string;
  object: 'organization';
  name: string;
  /** Address for mail from the service to the organization; null: no mail is sent. */
  contact: string | null;
  content_retention_days: number;
  default_analysis: 'off' | 'warn' | 'block';
  /** Html accepted by the API and by SMTP: valid html only, or any that a browser can show. */
  html_validation: {
    api: 'strict' | 'browser';
    compat: 'strict' | 'browser';
    smtp: 'strict' | 'browser';
  };
  timezone: string;
  /** A member’s session ends after this many minutes without a request. */
  session_idle_minutes: number;
  /** A member’s session ends after this many hours even if it is used. */
  session_hours: number;
  /** Roles that may see addresses, subjects and bodies of mail, which are otherwise hidden from them. */
  contents_allowed_to: ('analyst' | 'auditor')[];
  rate_limit_ceilings: {
    send?: number | undefined;
    read?: number | undefined;
    manage?: number | undefined;
  } | null;
  /** Start of the legal hold, during which neither retention nor erasures remove anything; null: no legal hold. */
  legal_hold_since: string | null;
  /** Since when and why the operator lets the organization send no mail; null: it may send. */
  suspension: {
    since: string;
    /** The operator's reason. */
    reason: string;
  } | null;
  created_at: string;
}

export interface SetContentsRolesAnswer {
  id: string;
  object: 'organization';
  name: string;
  /** Address for mail from the service to the organization; null: no mail is sent. */
  contact: string | null;
  content_retention_days: number;
  default_analysis: 'off' | 'warn' | 'block';
  /** Html accepted by the API and by SMTP: valid html only, or any that a browser can show. */
  html_validation: {
    api: 'strict' | 'browser';
    compat: 'strict' | 'browser';
    smtp: 'strict' | 'browser';
  };
  timezone: string;
  /** A member’s session ends after this many minutes without a request. */
  session_idle_minutes: number;
  /** A member’s session ends after this many hours even if it is used. */
  session_hours: number;
  /** Roles that may see addresses, subjects and bodies of mail, which are otherwise hidden from them. */
  contents_allowed_to: ('analyst' | 'auditor')[];
  rate_limit_ceilings: {
    send?: number | undefined;
    read?: number | undefined;
    manage?: number | undefined;
  } | null;
  /** Start of the legal hold, during which neither retention nor erasures remove anything; null: no legal hold. */
  legal_hold_since: string | null;
  /** Since when and why the operator lets the organization send no mail; null: it may send. */
  suspension: {
    since: string;
    /** The operator's reason. */
    reason: string;
  } | null;
  created_at: string;
}

export interface ReleaseOrganizationSendingAnswer {
  object: 'released_organization';
  organization_id: string;
  /** false: there was no restriction, so nothing changed. */
  released: boolean;
}

export interface PauseBulkMailAnswer {
  object: 'bulk_mail';
  organization_id: string;
  /** null: bulk mail is not paused. */
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
  /** Status of the whole message. */
  status?: 'accepted' | 'scheduled' | 'sending' | 'delivered' | 'deferred' | 'bounced' | 'failed' | 'suppressed' | 'cancelled' | 'expired' | undefined;
  /** The address of one of its recipients. */
  to?: string | undefined;
  /** The sender’s address. */
  from?: string | undefined;
  /** A tag by name and value, `order:1234`. */
  tag?: string | undefined;
  /** Metadata by name and value, `customer:42`. */
  metadata?: string | undefined;
  /** Words of the subject, all of them in any order, whatever their letter case. The first 24 words of a subject are known, for as long as its contents are kept. In double quotes: the whole subject, whatever its letter case and the amount of white space. */
  subject?: string | undefined;
  /** The `Message-ID`, with or without angle brackets. */
  message_id?: string | undefined;
  /** The API key that sent it. */
  key_id?: string | undefined;
  /** Number of the key’s value that sent it, from 1; each rotation makes a new value. */
  secret?: number | undefined;
  /** The request that sent it: the `X-Request-Id` of its response. */
  request_id?: string | undefined;
  /** The template it was rendered from, by id or alias. */
  template_id?: string | undefined;
  /** The version of that template. */
  template_version?: number | undefined;
  /** The sending domain. */
  domain_id?: string | undefined;
  /** Accepted at or after this time, ISO 8601, or this day in the time zone of the organization. */
  since?: string | undefined;
  /** Accepted before this time, ISO 8601, or this day in the time zone of the organization. */
  until?: string | undefined;
  /** The domain of one of its recipients. */
  recipient_domain?: string | undefined;
  /** The mailbox provider of one of its recipients, by their domain, as `GET /v1/stats` counts them. */
  mailbox_provider?: 'gmail' | 'outlook' | 'yahoo' | 'yahoo_japan' | 'icloud' | 'comcast' | 'proton' | 'fastmail' | 'zoho' | 'gmx' | 'web_de' | 'telekom' | 'freenet' | 'orange' | 'free' | 'laposte' | 'libero' | 'seznam' | 'wp' | 'yandex' | 'mail_ru' | 'qq' | 'netease' | 'naver' | 'docomo' | 'other' | undefined;
  /** Transactional or bulk. */
  stream?: 'transactional' | 'bulk' | undefined;
  /** Bounce category of at least one recipient. */
  bounce_class?: 'no_mailbox' | 'no_domain' | 'mailbox_disabled' | 'mailbox_full' | 'too_large' | 'content_rejected' | 'spam' | 'policy' | 'reputation' | 'authentication' | 'greylisted' | 'rate_limited' | 'sender_rejected' | 'relay_denied' | 'system' | 'network' | 'protocol' | 'unknown' | undefined;
  /** A code that refused one of its recipients for good or for a while: `550`, `5.1.1`, `451 4.7.1`. */
  smtp_code?: string | undefined;
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface GetMessageQuery {
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
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
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface ListKeysQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface GetKeyQuery {
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
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
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface ListDomainsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface GetDomainQuery {
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface ListTemplatesQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface GetTemplateQuery {
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface ListTemplateVersionsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
}

export interface CompareTemplateVersionsQuery {
  /** Number of the version to compare with, usually an earlier one; or `draft`. */
  with: string;
}

export interface PreviewTemplateQuery {
  /** Number of the version; the draft when absent. */
  version?: number | undefined;
  /** A language tag: `de-AT` falls back to `de`, and that to the template’s default. */
  locale?: string | undefined;
  /** `remote`: load images from other hosts over https, which notifies those hosts; never our own open pixel. */
  images?: 'none' | 'remote' | undefined;
}

export interface ListWebhooksQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface GetWebhookQuery {
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface ListWebhookDeliveriesQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Deliveries with this status only. */
  status?: 'pending' | 'delivered' | 'failed' | undefined;
  /** Deliveries of events of this type only. */
  event_type?: 'message.accepted' | 'message.scheduled' | 'message.rescheduled' | 'message.sending' | 'message.delivered' | 'message.deferred' | 'message.bounced' | 'message.failed' | 'message.suppressed' | 'message.cancelled' | 'message.expired' | 'message.opened' | 'message.clicked' | 'message.complained' | 'message.unsubscribed' | 'domain.registered' | 'domain.updated' | 'domain.verified' | 'domain.degraded' | 'domain.failed' | 'domain.dkim_keys_added' | 'domain.dkim_keys_activated' | 'domain.dkim_keys_destroyed' | 'domain.deleted' | 'domain.sending_warned' | 'domain.sending_slowed' | 'domain.sending_paused' | 'domain.sending_recovered' | 'domain.sending_released' | 'domain.warm_up_started' | 'domain.warm_up_ended' | 'organization.sending_warned' | 'organization.sending_slowed' | 'organization.sending_paused' | 'organization.sending_recovered' | 'organization.sending_released' | 'api_key.created' | 'api_key.updated' | 'api_key.rotated' | 'api_key.revoked' | 'api_key.expired' | 'api_key.deleted' | 'template.created' | 'template.published' | 'template.deleted' | 'webhook.created' | 'webhook.updated' | 'webhook.enabled' | 'webhook.disabled' | 'webhook.paused' | 'webhook.adopted' | 'webhook.ping' | 'webhook.deleted' | 'suppression.created' | 'suppression.deleted' | 'suppression.resubscribed' | 'topic.created' | 'topic.updated' | 'topic.deleted' | 'erasure.completed' | 'billing.quota_warning' | 'billing.quota_exceeded' | 'billing.invoice_closed' | 'audit.checkpoint' | undefined;
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
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface CheckSuppressionQuery {
  /** The address to check. */
  address: string;
}

export interface GetSuppressionQuery {
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface ListTopicsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface ListOptInsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Only this address. */
  address?: string | undefined;
}

export interface GetTopicQuery {
  /** State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing. */
  at?: string | undefined;
}

export interface ReadEventsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page, or `start` for the first events; absent: the newest page. */
  after?: string | undefined;
  /** Cursor of the last event to answer, such as `counted_to.cursor` of an invoice. */
  until?: string | undefined;
  /** Types or families such as `message.*`, separated by commas. Absent: all. */
  types?: string | undefined;
  /** Events of this message only. */
  message_id?: string | undefined;
  /** Events of this sending domain and of its messages only. */
  domain_id?: string | undefined;
  /** Events of messages with this tag only, by name and value: `order:1234`. */
  tag?: string | undefined;
  /** Events of recipients at this domain only. */
  recipient_domain?: string | undefined;
  /** Only events of messages that are billed, for this day (UTC) or a later one. A message is billed for the day on which it was accepted. */
  billed_from?: string | undefined;
  /** Only events of messages that are billed, for a day (UTC) before this one. A message is billed for the day on which it was accepted. */
  billed_to?: string | undefined;
  /** Seconds to wait if there are no events yet. */
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
  /** `cohort`: by the time of acceptance. `event`: by the time of each event. */
  attribution?: 'cohort' | 'event' | undefined;
  /** `previous`: also return the previous period. */
  compare?: 'previous' | undefined;
  /** Metrics, separated by commas. Default: all. */
  metrics?: string | undefined;
  /** Only counts with this value. */
  domain?: string | undefined;
  /** Only counts with this value. */
  stream?: string | undefined;
  /** Only counts with this value. */
  api_key?: string | undefined;
  /** Only recipients at this domain. */
  recipient_domain?: string | undefined;
  /** Only counts with this value. */
  mailbox_provider?: string | undefined;
  /** Only bounces of this class. */
  bounce_class?: 'no_mailbox' | 'no_domain' | 'mailbox_disabled' | 'mailbox_full' | 'too_large' | 'content_rejected' | 'spam' | 'policy' | 'reputation' | 'authentication' | 'greylisted' | 'rate_limited' | 'sender_rejected' | 'relay_denied' | 'system' | 'network' | 'protocol' | 'unknown' | undefined;
  /** Only messages with this tag, `campaign:spring`. Not with `recipient_domain` or `mailbox_provider`. */
  tag?: string | undefined;
  /** Only messages rendered from this template, by id or alias. */
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
  /** Refused requests of this API key. */
  key_id?: string | undefined;
  /** Refused requests of this member. */
  member_id?: string | undefined;
  /** The code of the error. */
  code?: string | undefined;
  /** The status of the answer. */
  status?: number | undefined;
  /** The path as documented, `/v1/messages/:id`. */
  path?: string | undefined;
  /** Refused at or after this time, ISO 8601, or this day in the time zone of the organization. */
  since?: string | undefined;
  /** Refused before this time, ISO 8601, or this day in the time zone of the organization. */
  until?: string | undefined;
}

export interface CountRefusedRequestsQuery {
  /** Refused requests of this API key. */
  key_id?: string | undefined;
  /** Refused requests of this member. */
  member_id?: string | undefined;
  /** The code of the error. */
  code?: string | undefined;
  /** The status of the answer. */
  status?: number | undefined;
  /** The path as documented, `/v1/messages/:id`. */
  path?: string | undefined;
  /** Refused at or after this time, ISO 8601, or this day in the time zone of the organization. */
  since?: string | undefined;
  /** Refused before this time, ISO 8601, or this day in the time zone of the organization. */
  until?: string | undefined;
}

export interface GetUsageQuery {
  /** A month in UTC, such as 2026-11. Default: the current month. */
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
  /** `desc`: newest first. */
  order?: 'asc' | 'desc' | undefined;
  /** `key:<id>`, `auditor:<id>`, `member:<id>`, `worker:<name>`, `operator`, `service` or `recipient`. */
  actor?: string | undefined;
  /** Events caused by this key or about it. */
  key_id?: string | undefined;
  /** Events about this sending domain. */
  domain_id?: string | undefined;
  /** Events about this message, including reads of it. */
  message_id?: string | undefined;
  /** Type of the events, such as `KeyRotated`. */
  type?: string | undefined;
  /** From this time on, or this day in the time zone of the organization. */
  since?: string | undefined;
  /** Before this time, or this day in the time zone of the organization. */
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
  /** Index of the first leaf; the export begins with the bundle of 256 that it is in. */
  from?: number | undefined;
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
}

export interface ListInboxQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
  /** Only mail to this envelope recipient. */
  to?: string | undefined;
  /** Only mail whose subject contains this, ignoring case. */
  subject?: string | undefined;
}

export interface DeleteInboxQuery {
  /** Only mail to this envelope recipient. */
  to?: string | undefined;
  /** Only mail whose subject contains this, ignoring case. */
  subject?: string | undefined;
}

export interface ListDestinationsQuery {
  /** Items per page. Default: 25. */
  limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  after?: string | undefined;
}
