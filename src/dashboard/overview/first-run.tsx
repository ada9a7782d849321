import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedDomain } from '../../http/resources/domains/domain.ts';
import type { SerializedSubmission } from '../../http/resources/service.ts';
import { IfAllowed } from '../components/action.tsx';
import { CopyWhole } from '../components/facts.tsx';
import { Icon, Mark } from '../components/icons.tsx';
import { useMay } from '../data/access.ts';
import { session } from '../data/credentials.ts';
import { onEvents } from '../data/live.ts';
import { linkTo } from '../data/location.ts';
import { useMembers } from '../data/names.ts';
import { client, useResource } from '../data/queries.ts';
import { useStore } from '../data/store.ts';
import { MakeKey } from '../keys/keys.tsx';

/** Guides a new organization to its first mail. */

interface StepProps {
  readonly number: number;
  readonly isDone: boolean;
  readonly title: string;
  readonly text: ComponentChildren;
  readonly action?: JSX.Element;
  readonly children?: ComponentChildren;
}

const Step = ({ number, isDone, title, text, action, children }: StepProps): JSX.Element => (
  <li class={`st4 line ${isDone ? 'done' : ''}`}>
    <span class="no">{isDone ? <Mark state="active" /> : number}</span>
    <div>
      <h2>
        {title}
        {isDone && <span class="vh">: done</span>}
      </h2>
      <p>{text}</p>
    </div>
    {action}
    {children}
  </li>
);

type SubmissionServer = SerializedSubmission['servers'][number];

const TLS = {
  none: 'none: only programs on this machine can connect',
  starttls: 'STARTTLS',
  implicit: 'implicit',
} as const satisfies Readonly<Record<SubmissionServer['tls'], string>>;

/** Puts an IPv6 address in brackets (RFC 3986 §3.2.2). */
const inUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** SMTP settings and a command that sends with them. */
const bySmtp = (
  from: string,
  { host, port, tls }: SubmissionServer,
  user: string,
): string => `# Host ${host}, port ${port}
# TLS ${TLS[tls]}
# User ${user}, password: an API key
curl ${tls === 'implicit' ? 'smtps' : 'smtp'}://${inUrl(host)}:${port}${tls === 'starttls' ? ' --ssl-reqd' : ''} \\
  --user "${user}:$OUTBOX_KEY" \\
  --mail-from hello@${from} --mail-rcpt you@example.net \\
  --upload-file - <<'MAIL'
From: Shop <hello@${from}>
To: you@example.net
Subject: It works

Hello.
MAIL`;

const SNIPPETS = {
  curl: (from: string) => `curl ${location.origin}/v1/messages/send \\
  -H "Authorization: Bearer $OUTBOX_KEY" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: first-1" \\
  -d '{"from":"Shop <hello@${from}>","to":"you@example.net",
       "subject":"It works","html":"<p>Hello.</p>"}'`,
  Node: (from: string) => `const answer = await fetch("${location.origin}/v1/messages/send", {
  method: "POST",
  headers: {
    authorization: \`Bearer \${process.env.OUTBOX_KEY}\`,
    "content-type": "application/json",
    "idempotency-key": "first-1",
  },
  body: JSON.stringify({
    from: "Shop <hello@${from}>", to: "you@example.net",
    subject: "It works", html: "<p>Hello.</p>",
  }),
});
console.log(await answer.json());`,
} as const;

/** Code samples by name, with one for each SMTP submission server. */
const snippetsFor = (from: string, submission: SerializedSubmission | undefined): ReadonlyMap<string, string> =>
  new Map([
    ...Object.entries(SNIPPETS).map(([name, text]) => [name, text(from)] as const),
    ...(submission?.servers ?? []).map(
      (server) =>
        [server.tls === 'implicit' ? 'SMTP, TLS' : 'SMTP', bySmtp(from, server, submission?.user ?? '')] as const,
    ),
  ]);

const QUOTED = /("[^"]*"|'[^']*'|`[^`]*`)/;

const Snippet = ({ from, hasMail }: { readonly from: string; readonly hasMail: boolean }): JSX.Element => {
  const [language, choose] = useState('curl');
  const submission = useResource<SerializedSubmission>({ path: '/v1/submission' }).data;
  const snippets = snippetsFor(from, submission);
  const text = snippets.get(language) ?? '';
  return (
    <div class="snip">
      <div class="sh flex line">
        <div class="seg">
          {[...snippets.keys()].map((one) => (
            <button key={one} type="button" aria-pressed={one === language} onClick={() => choose(one)}>
              {one}
            </button>
          ))}
        </div>
        <span class="sp" />
        <CopyWhole text={text} word="Copy" isGhost />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways */}
      <pre tabIndex={0}>
        {text.split(QUOTED).map((part, index) =>
          index % 2 === 1 ? (
            <span key={index} class="s">
              {part}
            </span>
          ) : (
            part
          ),
        )}
      </pre>
      <div class="sh end flex" role="status">
        {hasMail ? (
          <span class="status ok">
            <Mark state="active" />
            Your first message has arrived.
          </span>
        ) : (
          <span class="waits inline">
            <i class="spin" />
            Waiting for your first message. It appears here automatically.
          </span>
        )}
      </div>
    </div>
  );
};

const Captured = (): JSX.Element => {
  const mayOpenInbox = useMay('GET /v1/inbox');
  return (
    <p class="cap flex">
      <Icon name="tray" />
      <span>
        <b class="b">Mail is captured.</b> Nothing is sent until <code>MAIL_URL</code> names a mail server.
        {mayOpenInbox && (
          <>
            {' '}
            You can read it in the{' '}
            <a class="lnk" href={linkTo('/inbox')}>
              inbox
            </a>
            .
          </>
        )}
      </span>
    </p>
  );
};

/** Offers a passkey, so that the next sign-in needs no link. */
const SignedIn = (): JSX.Element => {
  const isMember = useStore(session)?.member != null;
  if (!isMember) return <>You are signed in.</>;
  return (
    <>
      You are signed in. Add a{' '}
      <a class="lnk" href={linkTo('/settings')}>
        passkey
      </a>{' '}
      to sign in without a link next time.
    </>
  );
};

/** Polling interval for changes without an event, such as an invitation accepted elsewhere. */
const EVERY_MS = 5_000;

/** Domains of the first page; empty while loading or without permission. */
const useDomainsWithRecords = (): readonly SerializedDomain[] =>
  useResource<List<SerializedDomain>>({ path: '/v1/domains', everyMs: EVERY_MS, enabled: useMay('GET /v1/domains') })
    .data?.data ?? [];

const FirstMessage = ({ from, hasMail }: { readonly from: string; readonly hasMail: boolean }): JSX.Element => (
  <Step
    number={2}
    isDone={hasMail}
    title="Send your first message"
    text={
      hasMail ? (
        <a class="lnk" href={linkTo('/messages')}>
          View your messages
        </a>
      ) : (
        'Use a key that you have, or create one now.'
      )
    }
    {...(!hasMail && { action: <MakeKey /> })}
  >
    <Snippet from={from} hasMail={hasMail} />
  </Step>
);

const OwnDomain = ({ isDone }: { readonly isDone: boolean }): JSX.Element => (
  <Step
    number={3}
    isDone={isDone}
    title="Add your domain"
    text="Copy its DNS records to your DNS provider. They are checked as you enter them."
    action={
      <IfAllowed operation={isDone ? 'GET /v1/domains' : 'POST /v1/domains'}>
        <a class="btn" href={linkTo('/domains')}>
          <Icon name="globe" />
          {isDone ? 'View records' : 'Add a domain'}
        </a>
      </IfAllowed>
    }
  />
);

const Others = ({ isDone }: { readonly isDone: boolean }): JSX.Element => (
  <Step
    number={4}
    isDone={isDone}
    title="Invite your team"
    text="Developers, analysts and auditors see only what they need."
    action={
      <IfAllowed operation={isDone ? 'GET /v1/members' : 'POST /v1/members'}>
        <a class="btn" href={linkTo('/settings')}>
          <Icon name="person" />
          {isDone ? 'View members' : 'Invite'}
        </a>
      </IfAllowed>
    }
  />
);

const TOGETHER_MS = 1_000;
const COMPLETES = /^(?:message\.accepted|domain\.)/;

/**
 * Reloads everything after an event that may complete a step, at most once per second. @returns a function that stops
 * it.
 */
const readAgain = (): (() => void) => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const read = (): void => {
    timer = undefined;
    void client.invalidateQueries();
  };
  const stop = onEvents((events) => {
    if (events.some(({ type }) => COMPLETES.test(type))) timer ??= setTimeout(read, TOGETHER_MS);
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
};

interface FirstRunProps {
  readonly hasMail: boolean;
  /** Shows the overview instead of these steps. */
  onDone(): void;
}

/** Four steps that complete automatically. */
export const FirstRun = ({ hasMail, onDone }: FirstRunProps): JSX.Element => {
  const domains = useDomainsWithRecords();
  const members = useMembers(EVERY_MS);
  useEffect(readAgain, []);
  const isCapturing = domains.some(({ records }) => records.some(({ status }) => status === 'not_needed'));
  const hasOwn = domains.length > 1 || domains.some(({ verification }) => verification?.method === 'dns');
  return (
    <>
      <div class="head">
        <div>
          <h1>Welcome</h1>
          <p class="sub">Four steps to start sending</p>
        </div>
        {hasMail && (
          <div class="acts">
            <button type="button" class="btn primary" onClick={onDone}>
              Go to the overview
            </button>
          </div>
        )}
      </div>
      {isCapturing && <Captured />}
      <ol class="steps4 frame">
        <Step number={1} isDone title="Sign in" text={<SignedIn />} />
        <FirstMessage from={domains.at(-1)?.name ?? 'example.test'} hasMail={hasMail} />
        <OwnDomain isDone={hasOwn} />
        <Others isDone={members.length > 1} />
      </ol>
    </>
  );
};
