import { endpoint } from '../endpoint.ts';
import { submissionSchema } from '../schemas/submission.ts';

export const getSubmissionRoute = endpoint(
  'GET /v1/submission',
  {
    summary: 'Read where mail is taken by SMTP',
    description:
      'What a program that can only send by SMTP is given. The password is an API key with `send`; the user name is ' +
      'ignored. See docs/smtp.md for what may be in a message.',
    answer: submissionSchema,
    etag: false,
  },
  async (_call, { deps: { submissionServers } }) => ({
    object: 'submission',
    user: 'outbox',
    servers: submissionServers.map(({ host, port, tls }) => ({ host, port, tls })),
  }),
);
