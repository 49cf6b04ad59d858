import type { z } from 'zod';
import type { Resource } from '../../ports.ts';
import type { Pass } from './pass.ts';
import type { Memory, Showing, Step } from './step.ts';

/** The API group of every kind. */
export const group = 'apphosting.dev';
/** The version of every kind. */
export const version = 'v1alpha1';

/** Annotations by which users steer an object. */
export const annotations = {
  paused: 'apphosting.dev/paused',
  reconcileAt: 'apphosting.dev/reconcile-at',
  acceptEndpoint: 'apphosting.dev/accept-endpoint',
  acceptMissing: 'apphosting.dev/accept-missing',
  onDelete: 'apphosting.dev/on-delete',
} as const;

/** A key of a Secret or ConfigMap in the object's own namespace, and the field of the spec that asks for it. */
export interface MaterialNeed {
  readonly name: string;
  readonly key: string;
  /** The field of the spec, for messages, such as `webhook.url`. */
  readonly field: string;
  /** True when the object works without this key. */
  readonly optional?: boolean;
}

/** A reference of an object to another custom resource in the same namespace. */
export interface ReferenceNeed {
  readonly kind: string;
  readonly name: string;
  readonly field: string;
  /** True when the kind itself decides what to do while the referred object is not ready. */
  readonly optional?: boolean;
  /** True when only the status of the referred object is needed, so that it need not have an id yet. */
  readonly withoutId?: boolean;
}

/** Everything outside the object that its spec names. */
export interface Needs {
  readonly secrets?: readonly MaterialNeed[];
  readonly configMaps?: readonly MaterialNeed[];
  readonly references?: readonly ReferenceNeed[];
}

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly path: string;
  readonly type?: 'string' | 'integer' | 'date' | 'boolean';
  /** True for a column that is shown only with `-o wide`. */
  readonly wide?: boolean;
  readonly description: string;
}

/** The definition of a kind: its schema, and pure functions that decide. These functions do no I/O, read no clock and catch nothing. */
export interface KindDefinition<Spec, Facts> {
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  /** One sentence for users, which becomes the description of the CRD. */
  readonly summary: string;
  /**
   * What an object of the kind is. `account`: it opens the service for others. `request`: it runs once and is final. `long`: the
   * service is kept equal to its spec.
   */
  readonly life: 'account' | 'long' | 'request';
  readonly spec: z.ZodType<Spec>;
  /** The schema of the kind's own status fields; every field is optional. */
  readonly facts: z.ZodType<Facts>;
  /** Fields of the facts, at any depth, that change all the time. They are written only together with another change. */
  readonly moving?: readonly string[];
  /** Fields of the facts that only the operator reads; they are stored under `status.internal`. */
  readonly internal?: readonly string[];
  /** The interface's name of the id in `status.externalId`; undefined for a kind that has no object of its own in the service. */
  readonly idWord: string | undefined;
  /** True when deleting a resource of this kind calls the service, so that it needs a finalizer. */
  readonly holds: boolean;
  readonly columns: readonly Column[];
  /** JSON paths of scalar fields for `kubectl get --field-selector`. */
  readonly selectable: readonly string[];
  /** How objects in the service carry our mark: the lists that show the mark, and how to read it from an item. */
  readonly marks?: {
    readonly noun: string;
    readonly collection: string;
    readonly read: (item: unknown) => { readonly mark: string | undefined; readonly name: string };
  };
  readonly needs: (spec: Spec) => Needs;
  /** Maps the interface's field names to paths of the spec. Used to translate refusals of the service. */
  readonly interfaceWords?: (spec: Spec) => Readonly<Record<string, string>>;
  /** Returns ids in the service that an object claims besides the one in its status. */
  readonly claims?: (spec: Spec) => readonly string[];
  /** Returns ids of further objects that a resource made in the service. Other resources can ask who owns these ids. */
  readonly made?: (facts: Facts) => readonly string[];
  /** Returns ids that the service wipes because this object asked for it, so that their absence is no loss. */
  readonly wipes?: (spec: Spec, facts: Facts) => readonly string[];
  /** Says what an object without a finalizer leaves in the service when it is deleted. Published as an event. */
  readonly leaves?: (memory: Memory<Facts>) => string | undefined;
  /** The types of the kind's own conditions that are in every status. They are `Unknown` while nothing is known. */
  readonly always?: readonly string[];
  /** The types of conditions that become Unknown while the object cannot be read. */
  readonly fleeting?: readonly string[];
  /** True for a request that is over. Nothing is read, sent or written for it any more. */
  readonly finished?: (facts: Facts) => boolean;
  /** True when the outcome of the call in the journal is already known. */
  readonly answered?: (memory: Memory<Facts>) => boolean;
  readonly step: (pass: Pass<Spec, Facts>) => Step<Facts>;
  readonly show: (pass: Pass<Spec, Facts>) => Showing<Facts>;
}

/** A kind with any types of spec and facts, as the engine and the generators use it. */
// oxlint-disable-next-line typescript/no-explicit-any -- a list of kinds has as many spec types as kinds; each is parsed by its own schema before use
export type AnyKind = KindDefinition<any, any>;

/** Returns the API resource of one of our kinds. */
export function resourceOf(kind: AnyKind): Resource {
  return { group, version, plural: kind.plural, namespaced: kind.scope === 'Namespaced' };
}

/** The part of a kind that manifests and reference pages are generated from. */
export type KindIdentity = Omit<AnyKind, 'needs' | 'step' | 'show'>;

/** Defines a kind. The types of spec and facts follow from its schemas. */
export function defineKind<Spec, Facts>(kind: KindDefinition<Spec, Facts>): KindDefinition<Spec, Facts> {
  return kind;
}
