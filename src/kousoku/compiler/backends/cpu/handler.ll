; The XLA FFI handler of every kernel. It is LLVM IR, so that no C compiler is needed where Kousoku runs.
;
; XLA calls @kousoku_handler with a call frame (struct XLA_FFI_CallFrame in xla/ffi/api/c_api.h, 64-bit layout). The
; frame's one attribute is the kernel's number; the list that begins at @kousoku_records says where its code is. Many
; lanes are split into chunks that XLA's threads and the caller claim from a counter; the caller waits for chunks that
; others have begun, never for threads that have not started.
;
; A kernel in which devices meet is called once for each of them. None begins before all have come, so that no thread of
; XLA's is held up by one that is not there: XLA may have it do something else first, for which it needs this thread. So
; who waits long leaves with a promise (XLA_FFI_Future), and a thread of its own does its part when the last has come.

; What is known of a kernel: number, the next record, function (null while it is being compiled, 1 where that failed),
; lanes in a gang, lanes in the smallest chunk, the most lanes that no other thread is woken for, whether there is a lane
; axis, programs of XLA's that use it, how many devices meet in it.
%Record = type { i64, ptr, ptr, i64, i64, i64, i64, i64, i64 }

; A call in a program of XLA's, its state: the kernel's record, a lock, the first rendezvous to which not all have come.
%Site = type { ptr, i64, ptr }

; Where devices meet, once: what `collectives` reads and writes (128 bytes); the run of the program (XLA_FFI_RunId, the
; same on all devices), how many have come, how many have left, whether all have come, the next rendezvous of the site,
; who has left a promise, 16 bytes of nothing; from byte 192 on the address of each device's array.
%Rendezvous = type { [128 x i8], i64, i64, i64, i64, ptr, ptr, [16 x i8] }

; A promise: function, rendezvous, its number of devices, XLA's interface, future, the next one, number of inputs; the
; addresses of inputs and outputs come behind.
%Promise = type { ptr, ptr, i64, ptr, ptr, ptr, i64 }

; What the workers of one call share: next chunk, chunks done, users, function, inputs, outputs, lanes, lanes in a
; chunk, number of chunks.
%Call = type { i64, i64, i64, ptr, ptr, ptr, i64, i64, i64 }

; The first record; number 0 is a record that is free.
@kousoku_records = global ptr null

; XLA's name for a pointer to a site (XLA_FFI_TypeId), and what to call when the program that holds it is gone.
@kousoku_type = global i64 0
@kousoku_type_info = global { i64, ptr, ptr } { i64 24, ptr null, ptr @release }

; Whether this system has @pthread_create.
@kousoku_threads = global i64 0

@lost = private constant [57 x i8] c"kousoku: this program calls a kernel that is not loaded.\00"
@unmade = private constant [64 x i8] c"kousoku: a kernel of this program could not be compiled by LLVM\00"
@unnumbered = private constant [58 x i8] c"kousoku: this JAX does not tell its runs apart; update it\00"

declare noalias ptr @malloc(i64)
declare void @free(ptr)
declare i32 @kousoku_yield()
declare i32 @kousoku_nap(i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)

define ptr @kousoku_handler(ptr %frame) nounwind {
entry:
  %extension.at = getelementptr i8, ptr %frame, i64 8
  %extension = load ptr, ptr %extension.at
  %asked = icmp ne ptr %extension, null
  br i1 %asked, label %metadata, label %find

; XLA asks for the version of the interface: answer with its own.
metadata:
  %metadata.at = getelementptr i8, ptr %extension, i64 24
  %answer = load ptr, ptr %metadata.at
  %major.at = getelementptr i8, ptr %answer, i64 24
  %minor.at = getelementptr i8, ptr %answer, i64 28
  %traits.at = getelementptr i8, ptr %answer, i64 32
  store i32 0, ptr %major.at
  store i32 1, ptr %minor.at
  store i32 0, ptr %traits.at
  %api0.at = getelementptr i8, ptr %frame, i64 16
  %api0 = load ptr, ptr %api0.at
  %known = icmp ne ptr %api0, null
  br i1 %known, label %version, label %answered

version:
  %own.major.at = getelementptr i8, ptr %api0, i64 32
  %own.minor.at = getelementptr i8, ptr %api0, i64 36
  %own.major = load i32, ptr %own.major.at
  %own.minor = load i32, ptr %own.minor.at
  store i32 %own.major, ptr %major.at
  store i32 %own.minor, ptr %minor.at
  br label %answered

answered:
  ret ptr null

; Made ready once, when XLA builds the program; run many times.
find:
  %stage.at = getelementptr i8, ptr %frame, i64 32
  %stage = load i32, ptr %stage.at
  %execute = icmp eq i32 %stage, 3
  br i1 %execute, label %run, label %instantiate

; The state of this call is a site with the record of the kernel whose number is the frame's attribute; that counts it.
instantiate:
  %attributes.at = getelementptr i8, ptr %frame, i64 160
  %attributes = load ptr, ptr %attributes.at
  %scalar = load ptr, ptr %attributes
  %value.at = getelementptr i8, ptr %scalar, i64 8
  %value = load ptr, ptr %value.at
  %number = load i64, ptr %value
  %first.record = load atomic ptr, ptr @kousoku_records acquire, align 8
  br label %probe

probe:
  %candidate = phi ptr [ %first.record, %instantiate ], [ %next.record, %further ]
  %last = icmp eq ptr %candidate, null
  br i1 %last, label %fail, label %compare

compare:
  %there = load atomic i64, ptr %candidate acquire, align 8
  %hit = icmp eq i64 %there, %number
  br i1 %hit, label %keep, label %further

further:
  %next.at = getelementptr %Record, ptr %candidate, i64 0, i32 1
  %next.record = load ptr, ptr %next.at
  br label %probe

keep:
  %programs.at = getelementptr %Record, ptr %candidate, i64 0, i32 7
  %programs = atomicrmw add ptr %programs.at, i64 1 acq_rel, align 8
  %site.made = call ptr @malloc(i64 24)
  store %Site zeroinitializer, ptr %site.made
  store ptr %candidate, ptr %site.made
  %kept.error = call ptr @remember(ptr %frame, ptr %site.made)
  %refused = icmp ne ptr %kept.error, null
  br i1 %refused, label %unkeep, label %ready

unkeep:
  call void @release(ptr %site.made)
  br label %ready

ready:
  ret ptr %kept.error

fail:
  %message = phi ptr [ @lost, %probe ], [ @unmade, %made ], [ @unnumbered, %meet ]
  %error = alloca { i64, ptr, ptr, i32 }
  store i64 28, ptr %error
  %error.extension = getelementptr i8, ptr %error, i64 8
  store ptr null, ptr %error.extension
  %error.message = getelementptr i8, ptr %error, i64 16
  store ptr %message, ptr %error.message
  %error.code = getelementptr i8, ptr %error, i64 24
  store i32 13, ptr %error.code
  %api1.at = getelementptr i8, ptr %frame, i64 16
  %api1 = load ptr, ptr %api1.at
  %create.at = getelementptr i8, ptr %api1, i64 48
  %create = load ptr, ptr %create.at
  %failure = call ptr %create(ptr %error)
  ret ptr %failure

; Addresses of the inputs' and outputs' elements.
run:
  %site.at = alloca ptr
  %recall.error = call ptr @recall(ptr %frame, ptr %site.at)
  %forgotten = icmp ne ptr %recall.error, null
  br i1 %forgotten, label %no.record, label %found

no.record:
  ret ptr %recall.error

found:
  %site = load ptr, ptr %site.at
  %record = load ptr, ptr %site
  %inputs.n.at = getelementptr i8, ptr %frame, i64 56
  %inputs.n = load i64, ptr %inputs.n.at
  %inputs.buffers.at = getelementptr i8, ptr %frame, i64 72
  %inputs.buffers = load ptr, ptr %inputs.buffers.at
  %outputs.n.at = getelementptr i8, ptr %frame, i64 96
  %outputs.n = load i64, ptr %outputs.n.at
  %outputs.buffers.at = getelementptr i8, ptr %frame, i64 112
  %outputs.buffers = load ptr, ptr %outputs.buffers.at
  %inputs = alloca ptr, i64 %inputs.n
  %outputs = alloca ptr, i64 %outputs.n
  call void @addresses(ptr %inputs.buffers, i64 %inputs.n, ptr %inputs)
  call void @addresses(ptr %outputs.buffers, i64 %outputs.n, ptr %outputs)
  %function.at = getelementptr %Record, ptr %record, i64 0, i32 2
  br label %look

look:
  %function = load atomic ptr, ptr %function.at acquire, align 8
  %absent = icmp eq ptr %function, null
  br i1 %absent, label %nap, label %made

; Another thread compiles it.
nap:
  %rested = call i32 @kousoku_nap(i32 500)
  br label %look

made:
  %failed = icmp eq ptr %function, inttoptr (i64 1 to ptr)
  br i1 %failed, label %fail, label %begin

begin:
  %batched.at = getelementptr %Record, ptr %record, i64 0, i32 6
  %batched = load i64, ptr %batched.at
  %many = icmp ne i64 %batched, 0
  br i1 %many, label %lanes, label %one

one:
  %devices.at = getelementptr %Record, ptr %record, i64 0, i32 8
  %devices = load i64, ptr %devices.at
  %meets = icmp ne i64 %devices, 0
  br i1 %meets, label %meet, label %single

meet:
  %run.at = alloca i64
  %numbered = call i1 @run.number(ptr %frame, ptr %run.at)
  br i1 %numbered, label %come, label %fail

come:
  %run.now = load i64, ptr %run.at
  %rendezvous.at = alloca ptr
  %waits = call i1 @come(ptr %site, i64 %run.now, ptr %rendezvous.at)
  %rendezvous = load ptr, ptr %rendezvous.at
  br i1 %waits, label %await, label %together

await:
  %promised = call i1 @await(ptr %frame, ptr %site, ptr %rendezvous, ptr %function, ptr %inputs, ptr %outputs)
  br i1 %promised, label %promise, label %together

promise:
  ret ptr null

together:
  call void %function(ptr %inputs, ptr %outputs, i64 0, i64 1, ptr %rendezvous)
  call void @part(ptr %rendezvous, i64 %devices)
  ret ptr null

single:
  call void %function(ptr %inputs, ptr %outputs, i64 0, i64 1)
  ret ptr null

; How many lanes: the first axis of the first output. Few are done here and now.
lanes:
  %first = load ptr, ptr %outputs.buffers
  %dims.at = getelementptr i8, ptr %first, i64 40
  %dims = load ptr, ptr %dims.at
  %count = load i64, ptr %dims
  %serial.at = getelementptr %Record, ptr %record, i64 0, i32 5
  %serial.most = load i64, ptr %serial.at
  %few = icmp sle i64 %count, %serial.most
  br i1 %few, label %serial, label %threads

serial:
  call void %function(ptr %inputs, ptr %outputs, i64 0, i64 %count)
  ret ptr null

threads:
  %threads.n = call i64 @threads(ptr %frame)
  %alone = icmp slt i64 %threads.n, 2
  br i1 %alone, label %serial, label %share

; Chunks of whole gangs: four for each thread, unless they get too small.
share:
  %group.at = getelementptr %Record, ptr %record, i64 0, i32 3
  %group = load i64, ptr %group.at
  %grain.at = getelementptr %Record, ptr %record, i64 0, i32 4
  %grain = load i64, ptr %grain.at
  %shares = mul i64 %threads.n, 4
  %part = udiv i64 %count, %shares
  %small = icmp slt i64 %part, %grain
  %size0 = select i1 %small, i64 %grain, i64 %part
  %size1 = add i64 %size0, %group
  %size2 = sub i64 %size1, 1
  %groups = udiv i64 %size2, %group
  %size = mul i64 %groups, %group
  %chunks0 = add i64 %count, %size
  %chunks1 = sub i64 %chunks0, 1
  %chunks = udiv i64 %chunks1, %size
  %fewer = icmp slt i64 %chunks, %threads.n
  %workers = select i1 %fewer, i64 %chunks, i64 %threads.n
  %call = call ptr @malloc(i64 72)
  %users.at = getelementptr %Call, ptr %call, i64 0, i32 2
  %c.function = getelementptr %Call, ptr %call, i64 0, i32 3
  %c.inputs = getelementptr %Call, ptr %call, i64 0, i32 4
  %c.outputs = getelementptr %Call, ptr %call, i64 0, i32 5
  %c.count = getelementptr %Call, ptr %call, i64 0, i32 6
  %c.size = getelementptr %Call, ptr %call, i64 0, i32 7
  %c.chunks = getelementptr %Call, ptr %call, i64 0, i32 8
  %done.at = getelementptr %Call, ptr %call, i64 0, i32 1
  store i64 0, ptr %call
  store i64 0, ptr %done.at
  store i64 %workers, ptr %users.at
  store ptr %function, ptr %c.function
  store ptr %inputs, ptr %c.inputs
  store ptr %outputs, ptr %c.outputs
  store i64 %count, ptr %c.count
  store i64 %size, ptr %c.size
  store i64 %chunks, ptr %c.chunks
  br label %hire

hire:
  %hired = phi i64 [ 1, %share ], [ %hired.next, %hire.one ]
  %enough = icmp sge i64 %hired, %workers
  br i1 %enough, label %own, label %hire.one

hire.one:
  call void @schedule(ptr %frame, ptr %call)
  %hired.next = add i64 %hired, 1
  br label %hire

own:
  call void @work(ptr %call)
  br label %wait

wait:
  %turn = phi i64 [ 0, %own ], [ %turn.next, %spin ]
  %done = load atomic i64, ptr %done.at acquire, align 8
  %complete = icmp eq i64 %done, %chunks
  br i1 %complete, label %finish, label %spin

spin:
  %turn.next = add i64 %turn, 1
  %patience = icmp ult i64 %turn, 4096
  br i1 %patience, label %wait, label %give.way

give.way:
  %ignored = call i32 @kousoku_yield()
  br label %wait.again

wait.again:
  %done.again = load atomic i64, ptr %done.at acquire, align 8
  %complete.again = icmp eq i64 %done.again, %chunks
  br i1 %complete.again, label %finish, label %give.way

finish:
  call void @leave(ptr %call)
  ret ptr null
}

; XLA_FFI_State_Set: the program holds the site.
define internal ptr @remember(ptr %frame, ptr %site) nounwind {
  %api.at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api.at
  %context.at = getelementptr i8, ptr %frame, i64 24
  %context = load ptr, ptr %context.at
  %args = alloca { i64, ptr, ptr, i64, ptr, ptr }
  store i64 48, ptr %args
  %extension.at = getelementptr i8, ptr %args, i64 8
  store ptr null, ptr %extension.at
  %args.context = getelementptr i8, ptr %args, i64 16
  store ptr %context, ptr %args.context
  %args.stage = getelementptr i8, ptr %args, i64 24
  store i64 0, ptr %args.stage
  %args.type = getelementptr i8, ptr %args, i64 32
  store ptr @kousoku_type, ptr %args.type
  %args.state = getelementptr i8, ptr %args, i64 40
  store ptr %site, ptr %args.state
  %ask.at = getelementptr i8, ptr %api, i64 104
  %ask = load ptr, ptr %ask.at
  %error = call ptr %ask(ptr %args)
  ret ptr %error
}

; XLA_FFI_State_Get: the site that the program holds.
define internal ptr @recall(ptr %frame, ptr %site.at) nounwind {
  %api.at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api.at
  %context.at = getelementptr i8, ptr %frame, i64 24
  %context = load ptr, ptr %context.at
  %args = alloca { i64, ptr, ptr, i64, ptr, ptr }
  store i64 48, ptr %args
  %extension.at = getelementptr i8, ptr %args, i64 8
  store ptr null, ptr %extension.at
  %args.context = getelementptr i8, ptr %args, i64 16
  store ptr %context, ptr %args.context
  %args.stage = getelementptr i8, ptr %args, i64 24
  store i64 0, ptr %args.stage
  %args.type = getelementptr i8, ptr %args, i64 32
  store ptr @kousoku_type, ptr %args.type
  %args.state = getelementptr i8, ptr %args, i64 40
  store ptr null, ptr %args.state
  %ask.at = getelementptr i8, ptr %api, i64 112
  %ask = load ptr, ptr %ask.at
  %error = call ptr %ask(ptr %args)
  %site = load ptr, ptr %args.state
  store ptr %site, ptr %site.at
  ret ptr %error
}

; A program that held the site is gone.
define internal void @release(ptr %site) nounwind {
  %record = load ptr, ptr %site
  call void @free(ptr %site)
  %programs.at = getelementptr %Record, ptr %record, i64 0, i32 7
  %before = atomicrmw sub ptr %programs.at, i64 1 acq_rel, align 8
  ret void
}

; XLA_FFI_RunId_Get; false where XLA has no number for a run.
define internal i1 @run.number(ptr %frame, ptr %run.at) nounwind {
entry:
  %api.at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api.at
  %api.size = load i64, ptr %api
  %tells = icmp uge i64 %api.size, 184
  br i1 %tells, label %ask, label %none

ask:
  %context.at = getelementptr i8, ptr %frame, i64 24
  %context = load ptr, ptr %context.at
  %args = alloca { i64, ptr, ptr, i64 }
  store i64 32, ptr %args
  %extension.at = getelementptr i8, ptr %args, i64 8
  store ptr null, ptr %extension.at
  %args.context = getelementptr i8, ptr %args, i64 16
  store ptr %context, ptr %args.context
  %args.run = getelementptr i8, ptr %args, i64 24
  store i64 0, ptr %args.run
  %ask.at = getelementptr i8, ptr %api, i64 176
  %ask.run = load ptr, ptr %ask.at
  %error = call ptr %ask.run(ptr %args)
  %refused = icmp ne ptr %error, null
  br i1 %refused, label %unanswered, label %answered

answered:
  %run = load i64, ptr %args.run
  store i64 %run, ptr %run.at
  ret i1 true

unanswered:
  call void @forget(ptr %api, ptr %error)
  br label %none

none:
  ret i1 false
}

; A device comes to the rendezvous of its run; the first one makes it. Returns whether others are still to come. The last
; one opens it, and has threads do what was promised.
define internal i1 @come(ptr %site, i64 %run, ptr %rendezvous.at) nounwind {
entry:
  %record = load ptr, ptr %site
  %devices.at = getelementptr %Record, ptr %record, i64 0, i32 8
  %devices = load i64, ptr %devices.at
  %first.at = getelementptr %Site, ptr %site, i64 0, i32 2
  call void @lock(ptr %site)
  br label %look

look:
  %at = phi ptr [ %first.at, %entry ], [ %further.at, %further ]
  %candidate = load ptr, ptr %at
  %past = icmp eq ptr %candidate, null
  br i1 %past, label %make, label %compare

compare:
  %run.at = getelementptr %Rendezvous, ptr %candidate, i64 0, i32 1
  %run.there = load i64, ptr %run.at
  %same = icmp eq i64 %run.there, %run
  br i1 %same, label %count, label %further

further:
  %further.at = getelementptr %Rendezvous, ptr %candidate, i64 0, i32 5
  br label %look

make:
  %addresses = mul i64 %devices, 8
  %size = add i64 %addresses, 192
  %made = call ptr @malloc(i64 %size)
  call void @llvm.memset.p0.i64(ptr %made, i8 0, i64 192, i1 false)
  %made.run.at = getelementptr %Rendezvous, ptr %made, i64 0, i32 1
  store i64 %run, ptr %made.run.at
  store ptr %made, ptr %at
  br label %count

count:
  %rendezvous = phi ptr [ %candidate, %compare ], [ %made, %make ]
  store ptr %rendezvous, ptr %rendezvous.at
  %came.at = getelementptr %Rendezvous, ptr %rendezvous, i64 0, i32 2
  %came.before = load i64, ptr %came.at
  %came = add i64 %came.before, 1
  store i64 %came, ptr %came.at
  %all = icmp eq i64 %came, %devices
  br i1 %all, label %open, label %wait

wait:
  call void @unlock(ptr %site)
  ret i1 true

open:
  %next.at = getelementptr %Rendezvous, ptr %rendezvous, i64 0, i32 5
  %next = load ptr, ptr %next.at
  store ptr %next, ptr %at
  %promises.at = getelementptr %Rendezvous, ptr %rendezvous, i64 0, i32 6
  %promises = load ptr, ptr %promises.at
  %opened.at = getelementptr %Rendezvous, ptr %rendezvous, i64 0, i32 4
  store atomic i64 1, ptr %opened.at release, align 8
  call void @unlock(ptr %site)
  br label %keep

keep:
  %promise = phi ptr [ %promises, %open ], [ %other, %begin ]
  %kept = icmp eq ptr %promise, null
  br i1 %kept, label %end, label %begin

begin:
  %other.at = getelementptr %Promise, ptr %promise, i64 0, i32 5
  %other = load ptr, ptr %other.at
  call void @begin(ptr %promise)
  br label %keep

end:
  ret i1 false
}

; Waits until all have come; false then. After about a millisecond it leaves a promise; true then.
define internal i1 @await(ptr %frame, ptr %site, ptr %rendezvous, ptr %function, ptr %inputs, ptr %outputs) nounwind {
entry:
  %opened.at = getelementptr %Rendezvous, ptr %rendezvous, i64 0, i32 4
  br label %look

look:
  %turn = phi i64 [ 0, %entry ], [ %turn.next, %again ]
  %opened = load atomic i64, ptr %opened.at acquire, align 8
  %all = icmp ne i64 %opened, 0
  br i1 %all, label %here, label %absent

absent:
  %turn.next = add i64 %turn, 1
  %patient = icmp ult i64 %turn, 1048576
  br i1 %patient, label %again, label %give.way

again:
  br label %look

give.way:
  %rest = phi i64 [ 0, %absent ], [ %rest.next, %still.absent ]
  %ignored = call i32 @kousoku_yield()
  %opened.now = load atomic i64, ptr %opened.at acquire, align 8
  %all.now = icmp ne i64 %opened.now, 0
  br i1 %all.now, label %here, label %still.absent

still.absent:
  %rest.next = add i64 %rest, 1
  %tired = icmp eq i64 %rest, 32
  br i1 %tired, label %promise, label %give.way

promise:
  %promised = call i1 @promise(ptr %frame, ptr %site, ptr %rendezvous, ptr %function, ptr %inputs, ptr %outputs)
  br i1 %promised, label %leave, label %give.way.on

; All have come in between, or XLA takes no promise.
give.way.on:
  %opened.on = load atomic i64, ptr %opened.at acquire, align 8
  %all.on = icmp ne i64 %opened.on, 0
  br i1 %all.on, label %here, label %give.way.once

give.way.once:
  %ignored.on = call i32 @kousoku_yield()
  br label %give.way.on

leave:
  ret i1 true

here:
  ret i1 false
}

; Leaves a promise at a rendezvous, unless all have come, or XLA takes none; returns whether it did.
define internal i1 @promise(ptr %frame, ptr %site, ptr %rendezvous, ptr %function, ptr %inputs, ptr %outputs) nounwind {
entry:
  %api.at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api.at
  %api.size = load i64, ptr %api
  %takes = icmp uge i64 %api.size, 176
  %threads = load i64, ptr @kousoku_threads
  %gives = icmp ne i64 %threads, 0
  %both.do = and i1 %takes, %gives
  br i1 %both.do, label %ask, label %none

; XLA_FFI_Future_Create.
ask:
  %args = alloca { i64, ptr, ptr }
  store i64 24, ptr %args
  %extension.at = getelementptr i8, ptr %args, i64 8
  store ptr null, ptr %extension.at
  %args.future = getelementptr i8, ptr %args, i64 16
  store ptr null, ptr %args.future
  %create.at = getelementptr i8, ptr %api, i64 152
  %create = load ptr, ptr %create.at
  %error = call ptr %create(ptr %args)
  %refused = icmp ne ptr %error, null
  br i1 %refused, label %unmade, label %write

unmade:
  call void @forget(ptr %api, ptr %error)
  br label %none

write:
  %future = load ptr, ptr %args.future
  %inputs.n.at = getelementptr i8, ptr %frame, i64 56
  %inputs.n = load i64, ptr %inputs.n.at
  %outputs.n.at = getelementptr i8, ptr %frame, i64 96
  %outputs.n = load i64, ptr %outputs.n.at
  %inputs.size = mul i64 %inputs.n, 8
  %outputs.size = mul i64 %outputs.n, 8
  %both = add i64 %inputs.size, %outputs.size
  %size = add i64 %both, 56
  %made = call ptr @malloc(i64 %size)
  %record = load ptr, ptr %site
  %devices.at = getelementptr %Record, ptr %record, i64 0, i32 8
  %devices = load i64, ptr %devices.at
  store ptr %function, ptr %made
  %made.rendezvous = getelementptr %Promise, ptr %made, i64 0, i32 1
  store ptr %rendezvous, ptr %made.rendezvous
  %made.devices = getelementptr %Promise, ptr %made, i64 0, i32 2
  store i64 %devices, ptr %made.devices
  %made.api = getelementptr %Promise, ptr %made, i64 0, i32 3
  store ptr %api, ptr %made.api
  %made.future = getelementptr %Promise, ptr %made, i64 0, i32 4
  store ptr %future, ptr %made.future
  %made.next = getelementptr %Promise, ptr %made, i64 0, i32 5
  %made.n = getelementptr %Promise, ptr %made, i64 0, i32 6
  store i64 %inputs.n, ptr %made.n
  %made.inputs = getelementptr %Promise, ptr %made, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr %made.inputs, ptr %inputs, i64 %inputs.size, i1 false)
  %made.outputs = getelementptr i8, ptr %made.inputs, i64 %inputs.size
  call void @llvm.memcpy.p0.p0.i64(ptr %made.outputs, ptr %outputs, i64 %outputs.size, i1 false)
  call void @lock(ptr %site)
  %opened.at = getelementptr %Rendezvous, ptr %rendezvous, i64 0, i32 4
  %opened = load atomic i64, ptr %opened.at acquire, align 8
  %late = icmp ne i64 %opened, 0
  %promises.at = getelementptr %Rendezvous, ptr %rendezvous, i64 0, i32 6
  br i1 %late, label %all.there, label %leave

leave:
  %frame.future = getelementptr i8, ptr %frame, i64 168
  store ptr %future, ptr %frame.future
  %others = load ptr, ptr %promises.at
  store ptr %others, ptr %made.next
  store ptr %made, ptr %promises.at
  call void @unlock(ptr %site)
  ret i1 true

; The future is XLA's once the frame has it; and what is done here and now is done when the handler returns.
all.there:
  call void @unlock(ptr %site)
  call void @fulfil(ptr %api, ptr %future)
  %frame.fulfilled = getelementptr i8, ptr %frame, i64 168
  store ptr %future, ptr %frame.fulfilled
  call void @free(ptr %made)
  ret i1 false

none:
  ret i1 false
}

; A thread does what was promised. Where the system has none to give now, it will.
define internal void @begin(ptr %promise) nounwind {
entry:
  %thread.at = alloca i64
  br label %try

try:
  %failed = call i32 @pthread_create(ptr %thread.at, ptr null, ptr @keep, ptr %promise)
  %begun = icmp eq i32 %failed, 0
  br i1 %begun, label %detach, label %nap

nap:
  %rested = call i32 @kousoku_nap(i32 500)
  br label %try

detach:
  %thread = load i64, ptr %thread.at
  %ignored = call i32 @pthread_detach(i64 %thread)
  ret void
}

define internal ptr @keep(ptr %promise) nounwind {
  %function = load ptr, ptr %promise
  %rendezvous.at = getelementptr %Promise, ptr %promise, i64 0, i32 1
  %rendezvous = load ptr, ptr %rendezvous.at
  %devices.at = getelementptr %Promise, ptr %promise, i64 0, i32 2
  %devices = load i64, ptr %devices.at
  %api.at = getelementptr %Promise, ptr %promise, i64 0, i32 3
  %api = load ptr, ptr %api.at
  %future.at = getelementptr %Promise, ptr %promise, i64 0, i32 4
  %future = load ptr, ptr %future.at
  %n.at = getelementptr %Promise, ptr %promise, i64 0, i32 6
  %n = load i64, ptr %n.at
  %inputs = getelementptr %Promise, ptr %promise, i64 1
  %outputs = getelementptr ptr, ptr %inputs, i64 %n
  call void %function(ptr %inputs, ptr %outputs, i64 0, i64 1, ptr %rendezvous)
  call void @part(ptr %rendezvous, i64 %devices)
  call void @free(ptr %promise)
  call void @fulfil(ptr %api, ptr %future)
  ret ptr null
}

; XLA_FFI_Future_SetAvailable.
define internal void @fulfil(ptr %api, ptr %future) nounwind {
  %args = alloca { i64, ptr, ptr }
  store i64 24, ptr %args
  %extension.at = getelementptr i8, ptr %args, i64 8
  store ptr null, ptr %extension.at
  %args.future = getelementptr i8, ptr %args, i64 16
  store ptr %future, ptr %args.future
  %set.at = getelementptr i8, ptr %api, i64 160
  %set = load ptr, ptr %set.at
  %error = call ptr %set(ptr %args)
  call void @forget(ptr %api, ptr %error)
  ret void
}

; A device leaves; the last one frees the rendezvous, which its site no longer knows.
define internal void @part(ptr %rendezvous, i64 %devices) nounwind {
entry:
  %left.at = getelementptr %Rendezvous, ptr %rendezvous, i64 0, i32 3
  %before = atomicrmw add ptr %left.at, i64 1 acq_rel, align 8
  %left = add i64 %before, 1
  %last = icmp eq i64 %left, %devices
  br i1 %last, label %clear, label %end

clear:
  call void @free(ptr %rendezvous)
  br label %end

end:
  ret void
}

; Held for a few instructions.
define internal void @lock(ptr %site) nounwind {
entry:
  %lock.at = getelementptr %Site, ptr %site, i64 0, i32 1
  br label %try

try:
  %before = atomicrmw xchg ptr %lock.at, i64 1 acquire, align 8
  %mine = icmp eq i64 %before, 0
  br i1 %mine, label %end, label %give.way

give.way:
  %ignored = call i32 @kousoku_yield()
  br label %try

end:
  ret void
}

define internal void @unlock(ptr %site) nounwind {
  %lock.at = getelementptr %Site, ptr %site, i64 0, i32 1
  store atomic i64 0, ptr %lock.at release, align 8
  ret void
}

; data[i] = buffers[i]->data
define internal void @addresses(ptr %buffers, i64 %n, ptr %data) nounwind {
entry:
  br label %head

head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %end

body:
  %buffer.at = getelementptr ptr, ptr %buffers, i64 %i
  %buffer = load ptr, ptr %buffer.at
  %address.at = getelementptr i8, ptr %buffer, i64 24
  %address = load ptr, ptr %address.at
  %slot = getelementptr ptr, ptr %data, i64 %i
  store ptr %address, ptr %slot
  %next = add i64 %i, 1
  br label %head

end:
  ret void
}

; XLA_FFI_ThreadPool_NumThreads; 1 where it fails.
define internal i64 @threads(ptr %frame) nounwind {
  %api.at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api.at
  %context.at = getelementptr i8, ptr %frame, i64 24
  %context = load ptr, ptr %context.at
  %count = alloca i64
  store i64 1, ptr %count
  %args = alloca { i64, ptr, ptr, ptr }
  store i64 32, ptr %args
  %extension.at = getelementptr i8, ptr %args, i64 8
  store ptr null, ptr %extension.at
  %args.context = getelementptr i8, ptr %args, i64 16
  store ptr %context, ptr %args.context
  %args.count = getelementptr i8, ptr %args, i64 24
  store ptr %count, ptr %args.count
  %ask.at = getelementptr i8, ptr %api, i64 144
  %ask = load ptr, ptr %ask.at
  %error = call ptr %ask(ptr %args)
  call void @forget(ptr %api, ptr %error)
  %n = load i64, ptr %count
  ret i64 %n
}

; XLA_FFI_ThreadPool_Schedule of @task; where it fails, the others do the work.
define internal void @schedule(ptr %frame, ptr %call) nounwind {
entry:
  %api.at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api.at
  %context.at = getelementptr i8, ptr %frame, i64 24
  %context = load ptr, ptr %context.at
  %args = alloca { i64, ptr, ptr, ptr, ptr }
  store i64 40, ptr %args
  %extension.at = getelementptr i8, ptr %args, i64 8
  store ptr null, ptr %extension.at
  %args.context = getelementptr i8, ptr %args, i64 16
  store ptr %context, ptr %args.context
  %args.task = getelementptr i8, ptr %args, i64 24
  store ptr @task, ptr %args.task
  %args.data = getelementptr i8, ptr %args, i64 32
  store ptr %call, ptr %args.data
  %ask.at = getelementptr i8, ptr %api, i64 136
  %ask = load ptr, ptr %ask.at
  %error = call ptr %ask(ptr %args)
  %refused = icmp ne ptr %error, null
  br i1 %refused, label %alone, label %end

alone:
  call void @forget(ptr %api, ptr %error)
  call void @leave(ptr %call)
  br label %end

end:
  ret void
}

; XLA_FFI_Error_Destroy.
define internal void @forget(ptr %api, ptr %error) nounwind {
entry:
  %is = icmp ne ptr %error, null
  br i1 %is, label %destroy, label %end

destroy:
  %args = alloca { i64, ptr, ptr }
  store i64 24, ptr %args
  %extension.at = getelementptr i8, ptr %args, i64 8
  store ptr null, ptr %extension.at
  %args.error = getelementptr i8, ptr %args, i64 16
  store ptr %error, ptr %args.error
  %destroy.at = getelementptr i8, ptr %api, i64 64
  %function = load ptr, ptr %destroy.at
  call void %function(ptr %args)
  br label %end

end:
  ret void
}

; A thread of the pool helps. It may come when all is done: then it only leaves.
define internal void @task(ptr %call) nounwind {
  call void @work(ptr %call)
  call void @leave(ptr %call)
  ret void
}

; Claim chunks until there are none.
define internal void @work(ptr %call) nounwind {
entry:
  %done.at = getelementptr %Call, ptr %call, i64 0, i32 1
  %c.function = getelementptr %Call, ptr %call, i64 0, i32 3
  %c.inputs = getelementptr %Call, ptr %call, i64 0, i32 4
  %c.outputs = getelementptr %Call, ptr %call, i64 0, i32 5
  %c.count = getelementptr %Call, ptr %call, i64 0, i32 6
  %c.size = getelementptr %Call, ptr %call, i64 0, i32 7
  %c.chunks = getelementptr %Call, ptr %call, i64 0, i32 8
  %function = load ptr, ptr %c.function
  %inputs = load ptr, ptr %c.inputs
  %outputs = load ptr, ptr %c.outputs
  %count = load i64, ptr %c.count
  %size = load i64, ptr %c.size
  %chunks = load i64, ptr %c.chunks
  br label %claim

claim:
  %mine = atomicrmw add ptr %call, i64 1 acq_rel, align 8
  %left = icmp slt i64 %mine, %chunks
  br i1 %left, label %run, label %end

run:
  %begin = mul i64 %mine, %size
  %past = add i64 %begin, %size
  %over = icmp sgt i64 %past, %count
  %stop = select i1 %over, i64 %count, i64 %past
  call void %function(ptr %inputs, ptr %outputs, i64 %begin, i64 %stop)
  %before = atomicrmw add ptr %done.at, i64 1 acq_rel, align 8
  br label %claim

end:
  ret void
}

; The last one to leave clears up.
define internal void @leave(ptr %call) nounwind {
entry:
  %users.at = getelementptr %Call, ptr %call, i64 0, i32 2
  %before = atomicrmw sub ptr %users.at, i64 1 acq_rel, align 8
  %last = icmp eq i64 %before, 1
  br i1 %last, label %clear, label %end

clear:
  call void @free(ptr %call)
  br label %end

end:
  ret void
}
