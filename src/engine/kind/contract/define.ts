import type { z } from 'zod';
import type { Resource } from '../../ports.ts';
import type { Pass } from './pass.ts';
import type { Memory, Showing, Step } from './step.ts';

/** The API group of all custom resources of the operator. */
export const group = 'apphosting.dev';
/** The API version of all custom resources of the operator. */
export const version = 'v1alpha1';

/** Annotations with which users control how the operator treats an object. */
export const annotations = {
  paused: 'apphosting.dev/paused',
  reconcileAt: 'apphosting.dev/reconcile-at',
  acceptEndpoint: 'apphosting.dev/accept-endpoint',
  acceptMissing: 'apphosting.dev/accept-missing',
  onDelete: 'apphosting.dev/on-delete',
} as const;

/** A key of a Secret or ConfigMap in the object's own namespace, and the field of the spec that refers to the key. */
export interface MaterialNeed {
  readonly name: string;
  readonly key: string;
  /** The field of the spec that refers to the key, such as `webhook.url`; used in messages. */
  readonly field: string;
  /** True if the object can be reconciled even when this key does not exist. */
  readonly optional?: boolean;
}

/** A reference of an object to another custom resource in the same namespace. */
export interface ReferenceNeed {
  readonly kind: string;
  readonly name: string;
  readonly field: string;
  /**
   * True if the kind itself decides what to do while the referred object is not ready. Otherwise the resource waits.
   */
  readonly optional?: boolean;
  /**
   * True if the reference may name an object that has no id in the service, because this kind uses only the status of
   * that object.
   */
  readonly withoutId?: boolean;
}

/** The Secrets, ConfigMaps and other resources that the spec of an object names. */
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

/**
 * The definition of a kind of custom resource: its schema, and pure functions that decide what to do. These functions
 * do no I/O, read no clock and catch no errors.
 */
export interface KindDefinition<Spec, Facts> {
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  /** One sentence that tells users what the kind is for. It becomes the description in the CustomResourceDefinition. */
  readonly summary: string;
  /**
   * The behaviour of the kind's resources. `account`: they give other resources access to the service. `request`: each
   * of them runs once and then never again. `long`: the operator keeps their objects in the service equal to the spec.
   */
  readonly life: 'account' | 'long' | 'request';
  readonly spec: z.ZodType<Spec>;
  /** The schema of the kind's own status fields; every field is optional. */
  readonly facts: z.ZodType<Facts>;
  /**
   * Names of status fields, at any depth, whose values change all the time. The operator writes a new value of such a
   * field only together with some other change.
   */
  readonly moving?: readonly string[];
  /** Status fields of the kind that only the operator reads. They are stored under `status.internal`. */
  readonly internal?: readonly string[];
  /**
   * The name that the service's API gives to the id in `status.externalId`. Undefined for a kind without
   * `status.externalId`.
   */
  readonly idWord: string | undefined;
  /** True when deleting a resource of this kind calls the service, so that the resource needs a finalizer. */
  readonly holds: boolean;
  readonly columns: readonly Column[];
  /** The JSON paths of the fields by which `kubectl get --field-selector` can select resources. */
  readonly selectable: readonly string[];
  /**
   * The lists of the service that show the ownership marks of the kind's objects, and how to read a mark from a list
   * item.
   */
  readonly marks?: {
    readonly noun: string;
    readonly collection: string;
    readonly read: (item: unknown) => { readonly mark: string | undefined; readonly name: string };
  };
  readonly needs: (spec: Spec) => Needs;
  /** Maps field names of the service's API to paths of the spec, to translate messages of the service. */
  readonly interfaceWords?: (spec: Spec) => Readonly<Record<string, string>>;
  /**
   * Returns the ids with which a spec claims objects of the service for its resource. The resource also claims the id
   * in its status.
   */
  readonly claims?: (spec: Spec) => readonly string[];
  /**
   * Returns further ids of the service, taken from the kind's status fields, by which other resources find this
   * resource. For example, an installation is found by the ids of the apps that it created.
   */
  readonly made?: (facts: Facts) => readonly string[];
  /**
   * Returns the ids of objects that the service deletes because this resource has requested it, as a DisasterReset
   * does. These objects do not count as missing.
   */
  readonly wipes?: (spec: Spec, facts: Facts) => readonly string[];
  /**
   * Returns a text that says what stays in the service when a resource without a finalizer is deleted. The text is
   * published as an event.
   */
  readonly leaves?: (memory: Memory<Facts>) => string | undefined;
  /**
   * The types of the conditions that every resource of this kind has, in addition to the conditions of all kinds. Their
   * status is `Unknown` until the service was read.
   */
  readonly always?: readonly string[];
  /**
   * The types of conditions that become `Unknown` while the object cannot be read from the service. They stay as they
   * are while the operator waits for a read, or for the outcome of a call.
   */
  readonly fleeting?: readonly string[];
  /** True for a one-time request that has ended. Nothing more is read from or sent to the service for the request. */
  readonly finished?: (facts: Facts) => boolean;
  /** True when the outcome of the call in the journal is already known. */
  readonly answered?: (memory: Memory<Facts>) => boolean;
  readonly step: (pass: Pass<Spec, Facts>) => Step<Facts>;
  readonly show: (pass: Pass<Spec, Facts>) => Showing<Facts>;
}

/**
 * A kind with any types of spec and status fields. The engine and the generators use this type, because they handle all
 * kinds alike.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- each kind in a list has its own type of spec; the schema of that kind parses the spec before use
export type AnyKind = KindDefinition<any, any>;

/** Returns the resource type that the Kubernetes API has for a kind: its group, version and plural name. */
export function resourceOf(kind: AnyKind): Resource {
  return { group, version, plural: kind.plural, namespaced: kind.scope === 'Namespaced' };
}

/** The part of a kind's definition from which manifests and reference pages are generated. */
export type KindIdentity = Omit<AnyKind, 'needs' | 'step' | 'show'>;

/**
 * Defines a kind of custom resource, such as HostedApp. The types of the kind's spec and status fields follow from its
 * schemas.
 */
export function defineKind<Spec, Facts>(kind: KindDefinition<Spec, Facts>): KindDefinition<Spec, Facts> {
  return kind;
}
