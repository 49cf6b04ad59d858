/**
 * Publishes Kubernetes events through `events.k8s.io/v1`.
 *
 * Guarantees: recording an event never blocks and never throws. When the same note about the same object is recorded
 * again, no second event is published: the first event becomes a series with a count. Routine events of many objects
 * become one event that names them all. Each object has a token bucket, so that no object can flood the namespace with
 * events. The queue is bounded; an event that does not fit is counted and dropped. The operator works the same when
 * events are dropped.
 */
import PQueue from 'p-queue';
import type { EventsV1Event, EventsV1EventSeries } from '@kubernetes/client-node';
import { identityOf, type KubeWire } from './client/parse.ts';
import { microTime, type Clock, inTime, type Moment, momentOf, pause } from '../base/time.ts';
import { messageOf } from '../base/text.ts';
import { type EventRecorder, KubeError, type KubeObject, type Resource } from '../engine/ports.ts';
import type { KubeMeans } from './means.ts';

export const eventResource: Resource = { group: 'events.k8s.io', version: 'v1', plural: 'events', namespaced: true };

const lineLimit = 1_000;
const seriesLimit = 4_096;
const seriesMs = 6 * 60_000;
const betweenSeriesWritesMs = 60_000;
const triesEach = 3;
const retryMs = 2_000;
/**
 * The time, in ms, for which similar routine events are collected before they are published. Similar events have the
 * same namespace, kind of object, type, reason and action. If they concern many objects, one event replaces them all.
 */
const gatherMs = 2_000;
/**
 * The collected routine events are published one by one if they concern no more than this many objects. Otherwise they are
 * merged into one event.
 */
const mostSingle = 5;

type RecordedEvent = Parameters<EventRecorder['record']>[0];

interface EventPublisherOptions extends KubeMeans {
  /** The name of the controller that is written into every event, such as `apphosting.dev/operator`. */
  readonly controller: string;
  /** The name of the process that is written into every event, such as the pod's name. */
  readonly instance: string;
  /**
   * Called with the reason when an event is dropped. It is not called for events that are still in the queue when the deadline
   * of `close` has passed.
   */
  readonly onDrop?: (why: 'flood' | 'queue' | 'refused') => void;
}

/**
 * An event, and how often it was recorded. If it is recorded more than once within a few minutes, the published event becomes a
 * series.
 */
interface Series {
  readonly name: string;
  readonly namespace: string;
  readonly event: RecordedEvent;
  count: number;
  /**
   * The number of occurrences that the published event shows. `count` also includes the occurrences that are not
   * published yet.
   */
  told: number;
  lastSeen: Moment;
  toldAt: number;
  queued: boolean;
}

export class EventPublisher implements EventRecorder {
  readonly #options: EventPublisherOptions;
  readonly #series = new Map<string, Series>();
  /**
   * Publishes one event at a time. The PQueue options `interval` and `timeout` are not used: with them the queue would run
   * timers that do not use our clock.
   */
  readonly #line = new PQueue({ concurrency: 1 });
  readonly #buckets: TokenBuckets;
  /** Routine events that wait to be published; if they are about many objects, they are merged first. */
  readonly #gathered = new Map<string, RecordedEvent[]>();
  readonly #stop = new AbortController();

  constructor(options: EventPublisherOptions) {
    this.#options = options;
    this.#buckets = new TokenBuckets(options.clock);
  }

  record(given: RecordedEvent): void {
    if (this.#stop.signal.aborted) return;
    // Keep only what identifies the object, because a series of events stays in memory for minutes.
    const event = { ...given, regarding: identityOf(given.regarding) };
    if (event.isRoutine === true) this.#gather(event);
    else this.#take(event);
  }

  #gather(event: RecordedEvent): void {
    const { kind, metadata } = event.regarding;
    const key = JSON.stringify([metadata.namespace, kind, event.type, event.reason, event.action]);
    const others = this.#gathered.get(key);
    if (others !== undefined) return void others.push(event);
    this.#gathered.set(key, [event]);
    this.#options.clock.after(gatherMs, () => this.#takeGathered(key));
  }

  #takeGathered(key: string): void {
    const events = this.#gathered.get(key) ?? [];
    this.#gathered.delete(key);
    const objects = new Set(events.map(({ regarding }) => regarding.metadata.uid)).size;
    for (const event of objects > mostSingle ? merged(events) : events) this.#take(event);
  }

  #take(event: RecordedEvent): void {
    const { clock, entropy } = this.#options;
    const { metadata } = event.regarding;
    const now = momentOf(clock);
    const key = JSON.stringify([metadata.uid, event.type, event.reason, event.action, event.note]);
    const known = this.#series.get(key);
    if (known !== undefined && now.monotonic - known.lastSeen.monotonic < seriesMs) {
      known.count += 1;
      known.lastSeen = now;
      if (known.told === 1 || now.monotonic - known.toldAt >= betweenSeriesWritesMs) this.#enqueue(known);
      return;
    }
    if (!this.#buckets.take(metadata.uid)) return this.#options.onDrop?.('flood');
    const fresh: Series = {
      name: `${metadata.name.slice(0, 200).replace(/[.-]+$/, '')}.${entropy.uuid().replaceAll('-', '').slice(0, 16)}`,
      namespace: metadata.namespace ?? 'default',
      event,
      count: 1,
      told: 0,
      lastSeen: now,
      toldAt: Number.NEGATIVE_INFINITY,
      queued: false,
    };
    setAsNewest(this.#series, key, fresh, seriesLimit);
    this.#enqueue(fresh);
  }

  /**
   * Publishes the queued events until all are published or the deadline has passed. Events that are recorded afterwards are
   * ignored.
   */
  async close(deadlineMs: number): Promise<void> {
    for (const key of this.#gathered.keys()) this.#takeGathered(key);
    for (const series of this.#series.values()) if (series.count > series.told) this.#enqueue(series);
    const { clock } = this.#options;
    await inTime(clock, deadlineMs, this.#line.onIdle());
    this.#stop.abort();
    this.#line.clear();
  }

  #enqueue(series: Series): void {
    if (series.queued) return;
    if (this.#line.size >= lineLimit) return this.#options.onDrop?.('queue');
    series.queued = true;
    // If `close` removes this event from the queue, the event is lost without a call of `onDrop`.
    this.#line.add(() => this.#publish(series)).catch(() => undefined);
  }

  async #publish(series: Series): Promise<void> {
    const { clock, log } = this.#options;
    // Continue in a later microtask, so that `record` returns at once.
    await Promise.resolve();
    series.queued = false;
    for (let attempt = 1; attempt <= triesEach; attempt += 1) {
      const creates = series.told === 0;
      const count = creates ? 1 : series.count;
      try {
        await (creates ? this.#create(series) : this.#extend(series));
        return this.#told(series, count);
      } catch (error) {
        const reason = error instanceof KubeError ? error.reason : 'unavailable';
        // The event exists already: an earlier attempt created it, but the response was lost.
        if (reason === 'exists' && creates) return this.#told(series, count);
        if (reason === 'notFound' && series.told > 0) series.told = 0;
        else if (reason !== 'unavailable' && reason !== 'throttled') attempt = triesEach;
        const message = messageOf(error);
        if (attempt >= triesEach)
          log.debug({ reason: series.event.reason }, `a Kubernetes event is dropped: ${message}`);
        else
          await pause(clock, (error instanceof KubeError ? error.retryInMs : undefined) ?? retryMs, this.#stop.signal);
      }
    }
    this.#options.onDrop?.('refused');
  }

  #told(series: Series, count: number): void {
    series.told = count;
    series.toldAt = this.#options.clock.monotonic();
    if (count === 1 && series.count > 1) this.#enqueue(series);
  }

  #create(series: Series): Promise<KubeObject> {
    const { api, clock, controller, instance } = this.#options;
    const { regarding, type, reason, action, note } = series.event;
    const { name, namespace, uid, resourceVersion } = regarding.metadata;
    const body: KubeWire<EventsV1Event> = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: series.name, namespace: series.namespace },
      eventTime: microTime(clock.wall()),
      reportingController: controller,
      reportingInstance: instance.slice(0, 128),
      regarding: { apiVersion: regarding.apiVersion, kind: regarding.kind, name, namespace, uid, resourceVersion },
      type,
      reason: reason.slice(0, 128),
      action: action.slice(0, 128),
      note: cutToBytes(note, 1_024),
    };
    return api.create(eventResource, series.namespace, body);
  }

  #extend(series: Series): Promise<KubeObject> {
    const value: KubeWire<EventsV1EventSeries> = {
      count: series.count,
      lastObservedTime: microTime(series.lastSeen.wall),
    };
    return this.#options.api.patch(eventResource, series.namespace, series.name, [
      { op: 'add', path: '/series', value },
    ]);
  }
}

/**
 * Merges several events into one. The merged event is about the object of the first event, and its note names the other
 * objects.
 */
function merged(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
  const [first] = events;
  if (first === undefined) return [];
  const names = new Set(events.map(({ regarding }) => regarding.metadata.name));
  names.delete(first.regarding.metadata.name);
  return [{ ...first, note: `${first.note}; the same for ${names.size} other objects: ${[...names].join(', ')}` }];
}

/** Cuts a text to a number of UTF-8 bytes, as the API server counts them, without splitting a character. */
export function cutToBytes(text: string, mostBytes: number): string {
  if (Buffer.byteLength(text) <= mostBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(mostBytes - Buffer.byteLength('…')));
  return `${text.slice(0, read)}…`;
}

/**
 * Puts an entry at the end of a map, even if the map already has the key. If the map then has more than `most` entries, removes
 * the oldest.
 */
function setAsNewest<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest = key] = map.keys();
  if (map.size > most) map.delete(oldest);
}

const bucketTokens = 25;
const refillMs = 300_000;
const mostBuckets = 10_000;

/**
 * A token bucket for each key, which limits how often something may happen. Buckets that were used least recently are
 * forgotten.
 */
class TokenBuckets {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes one token from the bucket of this key. Returns false when the bucket is empty. */
  take(key: string): boolean {
    const now = this.#clock.monotonic();
    const known = this.#buckets.get(key) ?? { tokens: bucketTokens, at: now };
    const tokens = Math.min(bucketTokens, known.tokens + (now - known.at) / refillMs);
    setAsNewest(this.#buckets, key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now }, mostBuckets);
    return tokens >= 1;
  }
}
