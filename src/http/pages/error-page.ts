import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode } from '../../domain/error-catalogue.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import { beginErrorAnswer } from '../errors/answer-errors.ts';
import { type Page, sendPage } from './page.ts';

const MALFORMED: Page = {
  title: 'This did not work',
  paragraphs: ['What was sent to this address is not what its page sends. Open the link from the mail again.'],
};

const LATER: Page = {
  title: 'Not possible just now',
  paragraphs: ['The service is away for a moment. Try again in a minute.'],
};

/** By code; for people, who cannot do anything about most of what can go wrong. */
const PAGES: Partial<Readonly<Record<ErrorCode, Page>>> = {
  not_found: {
    title: 'This link is not valid',
    paragraphs: ['It may have been cut off on its way. Open it from the mail again, or copy the whole of it.'],
  },
  rate_limit_exceeded: {
    title: 'Too many requests',
    paragraphs: ['Many requests came from your network within a minute. Wait a minute, then try again.'],
  },
  resource_conflict: LATER,
  unavailable: LATER,
  internal_error: {
    title: 'Something went wrong',
    paragraphs: ['The mistake is ours, and we have been told. Try again later.'],
  },
};

/** Answers an error to a person: status, headers and log are those of any other error. */
export const sendErrorPage =
  (logger: Logger) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { code } = beginErrorAnswer(logger, error, request, reply).error;
    return sendPage(reply, PAGES[code] ?? MALFORMED);
  };
