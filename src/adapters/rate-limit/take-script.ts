import { RUNS_PER_WINDOW } from './sliding-window.ts';

/**
 * `takeFrom` of `sliding-window.ts` in Lua, given `now` in milliseconds; a test holds the two against one another.
 * KEYS: the bucket, a flat list first, last, cost, first, last, cost, … in MessagePack. ARGV: cost, limit, window.
 * Answers allowed, used, resetMs, retryAfterMs.
 */
export const TAKE_AT_NOW = `
local cost, limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local stored = redis.call('GET', KEYS[1])
local old = stored and cmsgpack.unpack(stored) or {}
local runs, used = {}, 0
for i = 1, #old, 3 do
  -- The server's clock may be set back: what then lies in the future has happened just now.
  local last = math.min(old[i + 1], now)
  if last + window > now then
    runs[#runs + 1] = math.min(old[i], now)
    runs[#runs + 1] = last
    runs[#runs + 1] = old[i + 2]
    used = used + old[i + 2]
  end
end
local n = #runs
if used + cost <= limit then
  if cost > 0 then
    if n == 0 or now - runs[n - 2] >= window / ${RUNS_PER_WINDOW} then
      runs[n + 1], runs[n + 2], runs[n + 3] = now, now, cost
      n = n + 3
    else
      runs[n - 1], runs[n] = now, runs[n] + cost
    end
    redis.call('SET', KEYS[1], cmsgpack.pack(runs), 'PX', window)
  end
  local reset = 0
  if n > 0 then reset = runs[n - 1] + window - now end
  return {1, used + cost, reset, 0}
end
local free, retry = limit - used, 0
for i = 1, n, 3 do
  free = free + runs[i + 2]
  retry = runs[i + 1] + window - now
  if free >= cost then break end
end
local reset = 0
if n > 0 then reset = runs[n - 1] + window - now end
return {0, used, reset, math.max(retry, 1)}
`;

/** One round trip, atomic, by the server's clock: processes whose clocks differ count alike. */
export const TAKE_SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
${TAKE_AT_NOW}`;
