import { nameIn, type OpenApi, type OpenApiOperation, type OpenApiResponse } from './document.ts';

export interface Asked {
  readonly method: string;
  /** With its query, if any. */
  readonly path: string;
  readonly status: number;
}

/** Answers that come from where no operation is, by status. */
const ELSEWHERE: Readonly<Record<number, string>> = {
  400: 'Malformed',
  401: 'Unauthorized',
  429: 'RateLimitExceeded',
  503: 'Unavailable',
};

/** The path of a tile has slashes, encoded or as they are. */
const asPattern = (template: string): RegExp =>
  new RegExp(`^${template.replace('{tile}', '.*').replaceAll(/\{\w+\}/g, '[^/]*')}$`);

const parameters = (template: string): number => template.split('{').length;

const isDecodable = (path: string): boolean => {
  try {
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
};

/** What Node refuses before there is an operation: a head that is too large, a request that does not come. */
const BEFORE = new Set([408, 431]);

/** How a document describes an answer; undefined: it does not. */
export const responseFinder = ({
  paths,
  components,
  'x-elsewhere': nowhere,
}: OpenApi): ((asked: Asked) => OpenApiResponse | undefined) => {
  // The most exact path first: `/v1/messages/send` is no id.
  const known = Object.entries(paths)
    .sort(([left], [right]) => parameters(left) - parameters(right))
    .map(([template, operations]) => ({ pattern: asPattern(template), operations }));

  /** A status, or all refusals at once where an operation knows none of its own. */
  const responseIn = ({ responses }: OpenApiOperation, status: number) =>
    responses[String(status)] ?? (status >= 400 && status < 500 ? responses['4XX'] : undefined);

  const resolve = (one: OpenApiResponse | { readonly $ref: string } | undefined): OpenApiResponse | undefined =>
    one !== undefined && '$ref' in one ? components.responses[nameIn(String(one.$ref))] : (one as OpenApiResponse);

  /** Only a path that is there has other methods. */
  const elsewhere = (isThere: boolean, status: number): OpenApiResponse | undefined =>
    status === 405 && !isThere ? undefined : (nowhere[status] ?? components.responses[ELSEWHERE[status] ?? '']);

  return ({ method, path, status }) => {
    if (BEFORE.has(status)) return components.responses.Malformed;
    const [plain = ''] = path.split('?');
    const name = method === 'HEAD' ? 'get' : method.toLowerCase();
    const matching = known.filter(({ pattern }) => isDecodable(plain) && pattern.test(plain));
    // Whatever the method.
    const found = plain in paths ? matching.slice(0, 1) : matching;
    const operation = found.map(({ operations }) => operations[name]).find((one) => one !== undefined);
    if (operation !== undefined) return resolve(responseIn(operation, status));
    return elsewhere(found.length > 0, status);
  };
};
